import { describe, expect, it } from 'vitest';
import { createUpdateCounts } from './update-counts.js';

describe('createUpdateCounts', () => {
  it('counts up to and with a moment', () => {
    const counts = createUpdateCounts();
    for (const timeMs of [10, 20, 20, 30]) counts.add(timeMs);
    expect([-1, 0, 10, 19, 20, 29, 30, 1000].map((timeMs) => counts.at(timeMs))).toEqual([0, 0, 1, 1, 3, 3, 4, 4]);
    expect(counts.count).toBe(4);
  });

  it('is 0 without updates', () => {
    expect(createUpdateCounts().at(5)).toBe(0);
  });

  it.each([8191, 8192, 100_001])('is right to one in 4,096 of %d', (total) => {
    const counts = createUpdateCounts();
    for (let number = 1; number <= total; number += 1) counts.add(number);
    expect(counts.count).toBe(total);
    for (const moment of [1, 4095, 4097, Math.floor(total / 2), total]) {
      const error = moment - counts.at(moment);
      expect(error).toBeGreaterThanOrEqual(0);
      expect(error).toBeLessThan(total / 4096);
    }
  });
});
