/**
 * Sum of two tensors of one shape: the join of a residual connection.
 */
import { assert } from '../../base/assert.js';
import type { Graph, Value } from '../graph.js';
import { formatShape } from '../shape.js';

/** Returns a + b, in their shape. */
export function add(graph: Graph, a: Value, b: Value): Value {
  assert(
    formatShape(a.shape) === formatShape(b.shape),
    `add takes two tensors of one shape, not ${formatShape(a.shape)} and ${formatShape(b.shape)}`,
  );
  return graph.operation('add', [a, b], a.shape, (y) => ({
    forward(builder) {
      builder.node('Add', [a.name, b.name], {}, y.name);
    },
    backward: (_builder, gradient) => [gradient, gradient],
  }));
}
