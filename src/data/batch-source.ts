/**
 * Batches of a worker's lease, and batches of a whole set in order (for evaluation). Buffers are made once.
 */
import { assert } from '../base/assert.js';
import { createBatch, type DataBatch, type Dataset, fillBatch, shortenBatch } from './dataset.js';
import { epochPermutation } from './permutation.js';

/** A stretch of one epoch's permutation: positions [start, start + count). */
export interface LeaseRange {
  readonly epoch: number;
  readonly start: number;
  readonly count: number;
}

export interface BatchSourceOptions {
  readonly dataset: Dataset;
  /** Decides the permutations: the same at every worker. */
  readonly seed: number;
  /** Samples of a batch; the last one of a lease may have fewer. */
  readonly batchSamples: number;
}

export interface BatchSource {
  /** Begins with the lease's first batch; whatever was left of the lease before is forgotten. */
  open(lease: LeaseRange): void;
  /** The next batch (owned by the source, overwritten by the next call); null: the lease is used up, or none was opened. */
  next(): DataBatch | null;
}

/** Turns leases into batches. Keeps one epoch's permutation, which is computed when a lease of another epoch opens. */
export function createBatchSource({ dataset, seed, batchSamples }: BatchSourceOptions): BatchSource {
  const whole = createBatch(dataset, batchSamples);
  let order: Uint32Array = new Uint32Array(0);
  let epoch = -1;
  let position = 0;
  let end = 0;

  return {
    open(lease) {
      const { sampleCount } = dataset;
      assert(
        lease.start >= 0 && lease.count >= 0 && lease.start + lease.count <= sampleCount,
        `a lease of positions ${lease.start} to ${lease.start + lease.count} in ${sampleCount} samples`,
      );
      if (lease.epoch !== epoch) {
        order = epochPermutation({ sampleCount, seed, epoch: lease.epoch });
        epoch = lease.epoch;
      }
      position = lease.start;
      end = lease.start + lease.count;
    },
    next() {
      if (position >= end) return null;
      const count = Math.min(batchSamples, end - position);
      const batch = count === batchSamples ? whole : shortenBatch(whole, count);
      fillBatch(dataset, order, batch, position);
      position += count;
      return batch;
    },
  };
}

/**
 * All samples from `start` (default 0) to `end` (default all), in order, `batchSamples` at a time; the last batch may
 * have fewer. Each batch is overwritten by the next.
 */
export function* batchesInOrder(
  dataset: Dataset,
  batchSamples: number,
  { start = 0, end = dataset.sampleCount }: { readonly start?: number; readonly end?: number } = {},
): Generator<DataBatch, void, void> {
  const whole = createBatch(dataset, batchSamples);
  const indices = new Uint32Array(batchSamples);
  for (let position = start; position < end; position += batchSamples) {
    const count = Math.min(batchSamples, end - position);
    for (let i = 0; i < count; i += 1) indices[i] = position + i;
    const batch = count === batchSamples ? whole : shortenBatch(whole, count);
    fillBatch(dataset, indices, batch);
    yield batch;
  }
}
