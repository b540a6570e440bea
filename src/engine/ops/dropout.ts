/**
 * Dropout (Srivastava et al., JMLR 2014), scaled in training so that evaluation leaves everything as it is. The mask
 * comes in from outside, drawn from the batch's seed, so that a run resumed from a checkpoint draws the same ones.
 */
import { assert } from '../../base/assert.js';
import type { Graph, Value } from '../graph.js';

/** Sets `droppedShare` (0 to below 1) of the elements to 0 and scales up the rest. Any shape; returns the same. */
export function dropout(graph: Graph, x: Value, droppedShare: number): Value {
  assert(droppedShare >= 0 && droppedShare < 1, `dropout drops a share in [0, 1), not ${droppedShare}`);
  const mask = graph.addMask(x.shape, 1 - droppedShare);
  return graph.operation('dropout', [x], x.shape, (y) => ({
    forward(builder, mode) {
      if (mode === 'training') builder.node('Mul', [x.name, mask.name], {}, y.name);
      else builder.node('Identity', [x.name], {}, y.name);
    },
    backward: (builder, gradient) => [builder.node('Mul', [gradient, mask.name])],
  }));
}
