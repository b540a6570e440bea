/**
 * Rectified linear unit: max(x, 0). The gradient at exactly 0 is 0, as in PyTorch.
 */
import type { Graph, Value } from '../graph.js';

/** Any shape; returns the same. */
export function relu(graph: Graph, x: Value): Value {
  return graph.operation('relu', [x], x.shape, (y) => ({
    forward(builder) {
      builder.node('Relu', [x.name], {}, y.name);
    },
    backward(builder, gradient) {
      // Reading the output, not the input, lets the runtime compute the ReLU in place. Multiplying by the cast
      // comparison takes four fifths of the time of a Where.
      const passes = builder.node('Greater', [y.name, builder.constant('float32', [0], [])]);
      return [builder.node('Mul', [gradient, builder.node('Cast', [passes], { to: { type: 'float32' } })])];
    },
  }));
}
