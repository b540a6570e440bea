import { describe, expect, it } from 'vitest';
import { type AxisScaleOptions, axisScale } from './axis-scale.js';

describe('axisScale', () => {
  it.each<[string, readonly number[], AxisScaleOptions, readonly [number, number, number, number]]>([
    ['plain values', [1, 9], {}, [0, 10, 2, 0]],
    ['values on round numbers', [0, 50], { steps: 10 }, [0, 50, 5, 0]],
    ['small values', [0.041, 0.139], {}, [0.04, 0.14, 0.02, 2]],
    ['large values', [0, 1234], { steps: 10 }, [0, 1400, 200, 0]],
    [
      'steep beginnings, cut',
      [10, ...Array.from({ length: 19 }, (_, i) => 95 + i / 9)],
      { cutLow: 0.1 },
      [95, 97, 0.5, 1],
    ],
    [
      'steep beginnings at the top, cut',
      [5, ...Array.from({ length: 19 }, (_, i) => i / 100)],
      { cutHigh: 0.1 },
      [0, 0.2, 0.05, 2],
    ],
    ['a value that must be inside', [95, 97], { include: [90] }, [90, 98, 2, 0]],
    ['bounds', [99.5, 99.99], { highest: 100, lowest: 99 }, [99.5, 100, 0.1, 1]],
    ['one value', [40], {}, [38, 42, 1, 0]],
    ['zero alone', [0, 0], {}, [-1, 1, 0.5, 1]],
    ['nothing', [], {}, [0, 1, 0.2, 1]],
  ])('fits %s', (_, values, options, [min, max, step, decimals]) => {
    const scale = axisScale(values, options);
    expect(scale.min).toBeCloseTo(min, 9);
    expect(scale.max).toBeCloseTo(max, 9);
    expect(scale.step).toBeCloseTo(step, 9);
    expect(scale.decimals).toBe(decimals);
  });
});
