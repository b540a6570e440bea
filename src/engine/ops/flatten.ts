/**
 * Joins all dimensions but the batch, in front of a linear layer.
 */
import type { Graph, Value } from '../graph.js';
import { BATCH, elementCount } from '../shape.js';

/** `x`: [batch, ...]. Returns [batch, product of the others]. */
export function flatten(graph: Graph, x: Value): Value {
  const [batch = BATCH, ...rest] = x.shape;
  return graph.operation('flatten', [x], [batch, elementCount(rest)], (y) => ({
    forward(builder) {
      builder.node('Flatten', [x.name], { axis: { int: 1 } }, y.name);
    },
    backward(builder, gradient) {
      // -1 stands for the batch, whatever its size is in this run.
      return [builder.node('Reshape', [gradient, builder.constant('int64', [-1, ...(rest as number[])])])];
    },
  }));
}
