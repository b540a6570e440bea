/**
 * The order of the samples within an epoch (algorithms.md 3.5): a permutation that the seed and the epoch's number
 * decide, so that every worker computes it for itself and a lease is just a stretch of it.
 */
import { createRandom, shuffle } from '../base/random.js';

/** Keeps the data's random numbers apart from those of initial weights and slow-downs, which come from the same seed. */
const PERMUTATION_STREAM = 0x5a3d;

export interface EpochPermutationOptions {
  readonly sampleCount: number;
  readonly seed: number;
  /** Counted from 0. */
  readonly epoch: number;
}

/** The numbers 0 .. sampleCount - 1 in the epoch's order. 4 bytes a sample; owned by the caller. */
export function epochPermutation({ sampleCount, seed, epoch }: EpochPermutationOptions): Uint32Array {
  const order = Uint32Array.from({ length: sampleCount }, (_, index) => index);
  return shuffle(order, createRandom(seed).fork(PERMUTATION_STREAM).fork(epoch));
}
