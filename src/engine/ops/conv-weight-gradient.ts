/**
 * The gradient of a convolution with respect to its weight, as matrix products. For each tap (i, j) of the kernel,
 * dW[:, :, i, j] = sum over batch and positions of gradient x input shifted by (i, j).
 *
 * Two formulations, faster in turn (one thread, batches of 32 and 64, 3x3 and 5x5 kernels): with few input channels
 * all taps are laid side by side (im2col) for one product per image; with many, one product per tap over all images
 * saves the large copy. A Conv on transposed tensors, often seen for this, took twice as long and more.
 */
import type { OnnxBuilder } from '../onnx-graph.js';
import type { Window } from './window.js';

export interface ConvWeightGradient {
  readonly window: Window;
  readonly groups: number;
  readonly outputs: number;
  /** Name of the input: [batch, channels, height, width]. */
  readonly x: string;
  /** Name of the loss's gradient with respect to the output. */
  readonly gradient: string;
}

/** Up to this many input channels im2col wins. */
const IM2COL_CHANNELS_MAX = 8;

/** Appends the nodes; returns the name of a tensor of shape [outputs, channels / groups, kernel height, kernel width]. */
export function appendConvWeightGradient(builder: OnnxBuilder, conv: ConvWeightGradient): string {
  const { window, groups } = conv;
  const perTap = groups === 1 && window.channels > IM2COL_CHANNELS_MAX;
  return perTap ? appendPerTap(builder, conv) : appendIm2col(builder, conv);
}

/** The input shifted by each tap and cut to the output's size; `spatial` is the first of its two spatial axes. */
function shiftedInputs(builder: OnnxBuilder, x: string, window: Window, spatial: 1 | 2): string[] {
  const { kernel, stride, padding, outputSize } = window;
  const sides = spatial === 1 ? [0, ...padding, 0] : [0, 0, ...padding];
  const isPadded = padding[0] > 0 || padding[1] > 0;
  const padded = isPadded ? builder.node('Pad', [x, builder.constant('int64', [...sides, ...sides])]) : x;
  if (kernel[0] * kernel[1] * stride[0] * stride[1] === 1) return [padded];

  const axes = builder.constant('int64', [spatial, spatial + 1]);
  const steps = builder.constant('int64', stride);
  const shifted: string[] = [];
  for (let i = 0; i < kernel[0]; i += 1) {
    for (let j = 0; j < kernel[1]; j += 1) {
      const ends = [i + stride[0] * (outputSize[0] - 1) + 1, j + stride[1] * (outputSize[1] - 1) + 1];
      const cut = [builder.constant('int64', [i, j]), builder.constant('int64', ends), axes, steps];
      shifted.push(builder.node('Slice', [padded, ...cut]));
    }
  }
  return shifted;
}

/** One product per tap: [outputs, batch * positions] x [batch * positions, channels]. */
function appendPerTap(builder: OnnxBuilder, { window, outputs, x, gradient }: ConvWeightGradient): string {
  const { channels, kernel } = window;
  const channelsLast = { perm: { ints: [0, 2, 3, 1] } };
  const reshape = (tensor: string, shape: number[]) =>
    builder.node('Reshape', [tensor, builder.constant('int64', shape)]);
  const rows = reshape(builder.node('Transpose', [gradient], channelsLast), [-1, outputs]);
  const last = builder.node('Transpose', [x], channelsLast);
  const products = shiftedInputs(builder, last, window, 1).map((shifted) =>
    reshape(builder.node('Gemm', [rows, reshape(shifted, [-1, channels])], { transA: { int: 1 } }), [
      outputs,
      channels,
      1,
    ]),
  );
  const taps = builder.node('Concat', products, { axis: { int: 2 } });
  return reshape(taps, [outputs, channels, ...kernel]);
}

/** One product per image and group, [outputs, positions] x [positions, taps * channels], summed over the images. */
function appendIm2col(builder: OnnxBuilder, { window, groups, outputs, x, gradient }: ConvWeightGradient): string {
  const { channels, kernel, outputSize } = window;
  const taps = kernel[0] * kernel[1];
  const positions = outputSize[0] * outputSize[1];
  const perGroup = channels / groups;
  const reshape = (tensor: string, shape: number[]) =>
    builder.node('Reshape', [tensor, builder.constant('int64', shape)]);
  const images = reshape(gradient, [-1, groups, outputs / groups, positions]);
  // a tap axis between group and channel, so that the taps of one group lie together
  const shifted = shiftedInputs(builder, x, window, 2).map((tensor) =>
    reshape(tensor, [-1, groups, 1, perGroup * positions]),
  );
  const columns = reshape(builder.node('Concat', shifted, { axis: { int: 2 } }), [
    -1,
    groups,
    taps * perGroup,
    positions,
  ]);
  const transposed = builder.node('Transpose', [columns], { perm: { ints: [0, 1, 3, 2] } });
  const products = builder.node('MatMul', [images, transposed]);
  const sum = builder.node('ReduceSum', [products, builder.constant('int64', [0])], { keepdims: { int: 0 } });
  const tapsLast = builder.node('Transpose', [reshape(sum, [outputs, taps, perGroup])], { perm: { ints: [0, 2, 1] } });
  return reshape(tapsLast, [outputs, perGroup, ...kernel]);
}
