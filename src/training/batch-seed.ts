/**
 * What decides the random part of a gradient (dropout): the run's seed, the worker and its step, so that a step can be
 * computed again with the same masks, and no two workers drop the same units.
 */
import { createRandom } from '../base/random.js';

/** Keeps masks apart from the data's order and from slow-downs, which come from the same seed. */
const MASK_STREAM = 0x6d61;

const UINT32 = 2 ** 32;

export interface StepIdentity {
  /** The run's. */
  readonly seed: number;
  readonly worker: number;
  /** The worker's iteration number before the step: it only grows, so that no step has another's. */
  readonly k: number;
}

/** `Batch.seed` of a step, a whole number below 2^32. */
export function batchSeed({ seed, worker, k }: StepIdentity): number {
  return createRandom(seed).fork(MASK_STREAM).fork(worker).fork(k).below(UINT32);
}
