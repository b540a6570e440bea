/**
 * Mean over all positions of each channel, in front of a classifier's last layer.
 */
import { assert } from '../../base/assert.js';
import type { Graph, Value } from '../graph.js';
import { formatShape } from '../shape.js';

/** `x`: [batch, channels, height, width]. Returns [batch, channels]. */
export function globalAveragePool(graph: Graph, x: Value): Value {
  const [batch, channels, height, width] = x.shape;
  assert(
    x.shape.length === 4 && batch !== undefined && channels !== undefined,
    `global-average-pool takes [batch, channels, height, width], not ${formatShape(x.shape)}`,
  );
  const positions = Number(height) * Number(width);
  return graph.operation('global-average-pool', [x], [batch, channels], (y) => ({
    forward(builder) {
      // several times as fast as the operator GlobalAveragePool
      const spatial = builder.constant('int64', [2, 3]);
      builder.node('ReduceMean', [x.name, spatial], { keepdims: { int: 0 } }, y.name);
    },
    backward(builder, gradient) {
      const share = builder.node('Mul', [gradient, builder.constant('float32', [1 / positions], [])]);
      const cells = builder.node('Unsqueeze', [share, builder.constant('int64', [2, 3])]);
      return [builder.node('Expand', [cells, builder.node('Shape', [x.name])])];
    },
  }));
}
