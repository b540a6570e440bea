/**
 * The sliding window that convolution and pooling share: sizes, padding and the attributes in ONNX.
 */
import { assert } from '../../base/assert.js';
import type { OnnxAttributes } from '../onnx-graph.js';
import { type Dimension, formatShape, type Shape } from '../shape.js';

/** One number for both directions, or [vertical, horizontal]. */
export type Pair = number | readonly [vertical: number, horizontal: number];

export interface WindowOptions {
  readonly kernel: Pair;
  /** Step between windows. */
  readonly stride?: Pair;
  /** Rows and columns added on either side. Default 0. */
  readonly padding?: Pair;
}

export interface Window {
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
  readonly batch: Dimension;
  readonly channels: number;
  /** Height and width before and after. */
  readonly inputSize: readonly [number, number];
  readonly outputSize: readonly [number, number];
  /** Last rows and columns of the padded input that no window reaches. */
  readonly remainder: readonly [number, number];
  /** `kernel_shape`, `strides` and `pads`, as Conv, ConvTranspose and the pools take them. */
  readonly attributes: OnnxAttributes;
}

function pair(value: Pair): readonly [number, number] {
  return typeof value === 'number' ? [value, value] : value;
}

/** Lays a window over `shape` ([batch, channels, height, width]); `name` is for the message if it does not fit. */
export function createWindow(name: string, shape: Shape, options: WindowOptions & { readonly stride: Pair }): Window {
  const [batch, channels, height, width] = shape;
  assert(
    shape.length === 4 && batch !== undefined && isNumber(channels) && isNumber(height) && isNumber(width),
    `${name} takes [batch, channels, height, width], not ${formatShape(shape)}`,
  );
  const kernel = pair(options.kernel);
  const stride = pair(options.stride);
  const padding = pair(options.padding ?? 0);
  for (const axis of [0, 1] as const) {
    assert(isCount(kernel[axis], 1) && isCount(stride[axis], 1), `${name} has a kernel and a stride of at least 1`);
    assert(isCount(padding[axis], 0), `${name} has a padding of at least 0`);
  }
  const inputSize = [height, width] as const;
  const room = (axis: 0 | 1) => inputSize[axis] + 2 * padding[axis] - kernel[axis];
  assert(
    room(0) >= 0 && room(1) >= 0,
    `${name}: a ${kernel.join('x')} kernel does not fit ${height}x${width} with padding ${padding.join('x')}`,
  );
  return {
    kernel,
    stride,
    padding,
    batch,
    channels,
    inputSize,
    outputSize: [Math.floor(room(0) / stride[0]) + 1, Math.floor(room(1) / stride[1]) + 1],
    remainder: [room(0) % stride[0], room(1) % stride[1]],
    attributes: {
      kernel_shape: { ints: kernel },
      strides: { ints: stride },
      pads: { ints: [...padding, ...padding] },
    },
  };
}

function isNumber(dimension: Dimension | undefined): dimension is number {
  return typeof dimension === 'number';
}

function isCount(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least;
}
