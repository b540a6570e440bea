/**
 * Average pooling; padding counts as zeros, as in PyTorch. The gradient spreads each output's evenly over its window:
 * a ConvTranspose of one constant kernel, with every channel taken for an image of its own.
 */
import type { Graph, Value } from '../graph.js';
import { createWindow, type WindowOptions } from './window.js';

/** `x`: [batch, channels, height, width]. Returns [batch, channels, ...]. The default stride is the kernel's size. */
export function averagePool(graph: Graph, x: Value, options: WindowOptions): Value {
  const window = createWindow('average-pool', x.shape, { stride: options.kernel, ...options });
  const { batch, channels, kernel, inputSize, outputSize, remainder, attributes } = window;
  const cells = kernel[0] * kernel[1];

  return graph.operation('average-pool', [x], [batch, channels, ...outputSize], (y) => ({
    forward(builder) {
      builder.node('AveragePool', [x.name], { ...attributes, count_include_pad: { int: 1 } }, y.name);
    },
    backward(builder, gradient) {
      const reshape = (tensor: string, shape: readonly number[]) =>
        builder.node('Reshape', [tensor, builder.constant('int64', shape)]);
      const shares = builder.constant('float32', new Array<number>(cells).fill(1 / cells), [1, 1, ...kernel]);
      const spread = builder.node('ConvTranspose', [reshape(gradient, [-1, 1, ...outputSize]), shares], {
        ...attributes,
        output_padding: { ints: remainder },
      });
      return [reshape(spread, [-1, channels, ...inputSize])];
    },
  }));
}
