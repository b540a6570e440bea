import { describe, expect, it } from 'vitest';
import { isFiniteVector } from './finite.js';

describe('isFiniteVector', () => {
  it.each([0, 1, 3, 4, 5, 8, 1001])('takes %i finite values, the largest and the smallest too', (length) => {
    const extremes = [3.4028234663852886e38, -3.4028234663852886e38, 2 ** -149, -0];
    expect(isFiniteVector(Float32Array.from({ length }, (_, i) => extremes[i % 4] as number))).toBe(true);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('finds %d wherever it is', (value) => {
    for (let length = 1; length <= 9; length += 1) {
      for (let at = 0; at < length; at += 1) {
        const vector = new Float32Array(length).fill(1);
        vector[at] = value;
        expect(isFiniteVector(vector), `at ${at} of ${length}`).toBe(false);
      }
    }
  });

  it('is not deceived by infinities of both signs', () => {
    expect(isFiniteVector(Float32Array.of(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY))).toBe(false);
  });
});
