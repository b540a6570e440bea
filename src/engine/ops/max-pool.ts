/**
 * Max-pooling. ONNX has no gradient of it, but its MaxPool also gives each maximum's place in the flattened input, and
 * ScatterElements adds the gradients there; windows that overlap add up.
 */
import { assert } from '../../base/assert.js';
import type { Graph, Value } from '../graph.js';
import { createWindow, type WindowOptions } from './window.js';

/** `x`: [batch, channels, height, width]. Returns [batch, channels, ...]. The default stride is the kernel's size. */
export function maxPool(graph: Graph, x: Value, options: WindowOptions): Value {
  const window = createWindow('max-pool', x.shape, { stride: options.kernel, ...options });
  const { kernel, padding, attributes } = window;
  // A window that lies in the padding alone has no maximum.
  assert(2 * padding[0] <= kernel[0] && 2 * padding[1] <= kernel[1], 'max-pool pads by at most half of its kernel');

  return graph.operation('max-pool', [x], [window.batch, window.channels, ...window.outputSize], (y) => {
    const places = `${y.name}/places`;
    return {
      forward(builder, mode) {
        const outputs = mode === 'training' ? [y.name, places] : [y.name];
        builder.nodeWithOutputs('MaxPool', [x.name], outputs, attributes);
      },
      backward(builder, gradient) {
        const flat = builder.constant('int64', [-1]);
        const reshape = (tensor: string, shape: string) => builder.node('Reshape', [tensor, shape]);
        const size = reshape(builder.node('Size', [x.name]), builder.constant('int64', [1]));
        const zeros = builder.node('ConstantOfShape', [size]);
        const sums = builder.node('ScatterElements', [zeros, reshape(places, flat), reshape(gradient, flat)], {
          reduction: { string: 'add' },
        });
        return [reshape(sums, builder.node('Shape', [x.name]))];
      },
    };
  });
}
