/**
 * Shapes of a model's tensors, with a symbolic batch dimension in front of every activation.
 */
import { assert } from '../base/assert.js';

/** Stands for the number of samples in a batch, which may differ from call to call. */
export const BATCH = 'batch';

export type Dimension = number | typeof BATCH;

/** Activations have the batch first (`['batch', 28, 28]`), parameters have numbers only. [] is a scalar. */
export type Shape = readonly Dimension[];

/** Number of elements of a shape without a batch dimension; 1 for []. */
export function elementCount(shape: Shape): number {
  let count = 1;
  for (const dimension of shape) {
    assert(dimension !== BATCH, `shape ${formatShape(shape)} has a fixed number of elements`);
    count *= dimension;
  }
  return count;
}

/** `[batch, 3, 32, 32]`. */
export function formatShape(shape: Shape): string {
  return `[${shape.join(', ')}]`;
}
