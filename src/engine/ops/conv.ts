/**
 * Two-dimensional convolution (cross-correlation, as the field has it). ONNX has no convolution gradients, so they
 * are composed: with respect to the input a ConvTranspose; with respect to the weight one of two formulations, chosen
 * by measurement (conv-weight-gradient.ts).
 */
import { assert } from '../../base/assert.js';
import type { Graph, Value } from '../graph.js';
import { constant, heUniform, type Initializer } from '../initializers.js';
import { appendConvWeightGradient } from './conv-weight-gradient.js';
import { createWindow, type WindowOptions } from './window.js';

export interface ConvOptions extends WindowOptions {
  /** Prefix of the parameters' names: `name.weight`, `name.bias`. */
  readonly name: string;
  /** Output channels. */
  readonly outputs: number;
  /** Input and output channels fall into this many groups that do not mix. Default 1. */
  readonly groups?: number;
  /** Default true; batch-norm behind it makes it useless. */
  readonly bias?: boolean;
  /** Fills the weight, given the inputs per output; default He's rule. The bias starts at zero. */
  readonly initializer?: (fanIn: number) => Initializer;
}

/** `x`: [batch, channels, height, width]. Returns [batch, outputs, ...]. Default stride 1. */
export function conv(graph: Graph, x: Value, options: ConvOptions): Value {
  const { name, outputs, groups = 1, bias: hasBias = true, initializer = heUniform } = options;
  const window = createWindow(name, x.shape, { stride: 1, ...options });
  const { channels, kernel, remainder, attributes } = window;
  assert(
    Number.isSafeInteger(groups) && groups >= 1 && channels % groups === 0 && outputs % groups === 0,
    `${name}: ${groups} groups divide neither ${channels} inputs nor ${outputs} outputs evenly`,
  );
  const perGroup = channels / groups;
  const weightShape = [outputs, perGroup, ...kernel];
  const fanIn = perGroup * kernel[0] * kernel[1];
  const weight = graph.addParameter(`${name}.weight`, weightShape, initializer(fanIn));
  const bias = hasBias ? graph.addParameter(`${name}.bias`, [outputs], constant(0)) : null;
  const operands = bias === null ? [x, weight] : [x, weight, bias];
  const shape = [window.batch, outputs, ...window.outputSize];

  return graph.operation('conv', operands, shape, (y) => ({
    forward(builder) {
      const inputs = operands.map((value) => value.name);
      builder.node('Conv', inputs, { ...attributes, group: { int: groups } }, y.name);
    },
    backward(builder, gradient) {
      const transposed = { ...attributes, group: { int: groups }, output_padding: { ints: remainder } };
      const forX = x.needsGradient ? builder.node('ConvTranspose', [gradient, weight.name], transposed) : null;
      const forWeight = appendConvWeightGradient(builder, { window, groups, outputs, x: x.name, gradient });
      if (bias === null) return [forX, forWeight];
      const allButChannels = builder.constant('int64', [0, 2, 3]);
      return [forX, forWeight, builder.node('ReduceSum', [gradient, allButChannels], { keepdims: { int: 0 } })];
    },
  }));
}
