import { describe, expect, it } from 'vitest';
import { epochPermutation } from './permutation.js';

describe('epochPermutation', () => {
  it.each([0, 1, 2, 7, 1000])('holds each of %i samples once', (sampleCount) => {
    const order = epochPermutation({ sampleCount, seed: 3, epoch: 1 });
    expect([...order].toSorted((a, b) => a - b)).toEqual(Array.from({ length: sampleCount }, (_, i) => i));
  });

  it('is decided by seed and epoch alone', () => {
    const of = (seed: number, epoch: number): string => epochPermutation({ sampleCount: 50, seed, epoch }).join();
    expect(of(1, 0)).toBe(of(1, 0));
    expect(new Set([of(1, 0), of(1, 1), of(1, 2), of(2, 0), of(2, 1), of(0, 0)]).size).toBe(6);
  });

  it('puts every sample at every place about equally often', () => {
    const counts = Array.from({ length: 5 }, () => new Array<number>(5).fill(0));
    for (let epoch = 0; epoch < 5000; epoch += 1) {
      epochPermutation({ sampleCount: 5, seed: 11, epoch }).forEach((sample, place) => {
        const row = counts[place] as number[];
        row[sample] = (row[sample] as number) + 1;
      });
    }
    // 1000 expected; five standard deviations are 141
    for (const row of counts) for (const count of row) expect(Math.abs(count - 1000)).toBeLessThan(141);
  });
});
