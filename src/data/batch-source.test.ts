import { describe, expect, it } from 'vitest';
import { batchesInOrder, createBatchSource } from './batch-source.js';
import type { Dataset } from './dataset.js';
import { epochPermutation } from './permutation.js';

const SAMPLES = 10;

/** Sample i is the single value i with label i. */
const counting: Dataset = {
  name: 'counting',
  sampleCount: SAMPLES,
  inputShape: [1],
  classCount: SAMPLES,
  images: Uint8Array.from({ length: SAMPLES }, (_, i) => i),
  labels: Uint8Array.from({ length: SAMPLES }, (_, i) => i),
  levels: Float32Array.from({ length: 256 }, (_, byte) => byte),
};

describe('createBatchSource', () => {
  const source = () => createBatchSource({ dataset: counting, seed: 5, batchSamples: 4 });

  it('cuts a lease into batches along the permutation of its epoch', () => {
    const batches = source();
    for (const epoch of [0, 3]) {
      const order = epochPermutation({ sampleCount: SAMPLES, seed: 5, epoch });
      batches.open({ epoch, start: 1, count: 9 });
      const seen: number[] = [];
      const sizes: number[] = [];
      for (let batch = batches.next(); batch !== null; batch = batches.next()) {
        expect([...batch.inputs]).toEqual([...batch.labels]);
        sizes.push(batch.count);
        seen.push(...batch.labels);
      }
      expect(sizes).toEqual([4, 4, 1]);
      expect(seen).toEqual([...order.subarray(1, 10)]);
    }
  });

  it('has nothing before a lease, nothing after it, nothing in an empty one', () => {
    const batches = source();
    expect(batches.next()).toBeNull();
    batches.open({ epoch: 0, start: 0, count: 4 });
    expect(batches.next()?.count).toBe(4);
    expect(batches.next()).toBeNull();
    expect(batches.next()).toBeNull();
    batches.open({ epoch: 0, start: 10, count: 0 });
    expect(batches.next()).toBeNull();
  });

  it('forgets the rest of a lease when another opens', () => {
    const batches = source();
    batches.open({ epoch: 0, start: 0, count: 10 });
    batches.next();
    batches.open({ epoch: 0, start: 8, count: 2 });
    expect([...(batches.next()?.labels ?? [])]).toEqual([
      ...epochPermutation({ sampleCount: SAMPLES, seed: 5, epoch: 0 }).subarray(8),
    ]);
    expect(batches.next()).toBeNull();
  });

  it('uses its buffers again', () => {
    const batches = source();
    batches.open({ epoch: 0, start: 0, count: 8 });
    const first = batches.next();
    expect(first).not.toBeNull();
    expect(batches.next()).toBe(first);
  });

  it('asserts that a lease lies within the data', () => {
    expect(() => source().open({ epoch: 0, start: 5, count: 6 })).toThrow('positions 5 to 11 in 10 samples');
  });
});

describe('batchesInOrder', () => {
  const labelsOf = (batchSamples: number, range?: { start?: number; end?: number }): number[][] =>
    Array.from(batchesInOrder(counting, batchSamples, range), (batch) => [...batch.labels]);

  it.each<[string, number[][], number[][]]>([
    [
      'everything',
      labelsOf(4),
      [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
      ],
    ],
    ['a batch larger than the set', labelsOf(20), [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]],
    ['a part', labelsOf(2, { start: 3, end: 6 }), [[3, 4], [5]]],
    ['nothing', labelsOf(2, { start: 6, end: 6 }), []],
  ])('gives %s', (_, found, expected) => {
    expect(found).toEqual(expected);
  });
});
