import { describe, expect, it } from 'vitest';
import type { WeightRule } from './config.js';
import { groupWeights } from './weights.js';

const freshest: WeightRule = { rule: 'dynamic', alpha: 0.9, gap: 'freshest' };
const initial: WeightRule = { rule: 'dynamic', alpha: 0.9, gap: 'initial' };
const constant: WeightRule = { rule: 'constant' };

function weigh(ks: readonly number[], rule: WeightRule, notFinite: readonly number[] = []): readonly number[] {
  return groupWeights(
    ks.map((k, i) => ({ k, finite: !notFinite.includes(i) })),
    rule,
  );
}

function expectClose(weights: readonly number[], expected: readonly number[]): void {
  expect(weights).toHaveLength(expected.length);
  weights.forEach((weight, i) => {
    expect(Math.abs(weight - (expected[i] as number)), `weight ${i} of ${weights.join(' ')}`).toBeLessThan(1e-6);
  });
}

describe('dynamic weights: the vectors of algorithms.md 4.2', () => {
  it.each<[readonly number[], readonly number[]]>([
    [
      [5, 5, 5],
      [1 / 3, 1 / 3, 1 / 3],
    ],
    [
      [3, 2],
      [0.526316, 0.473684],
    ],
    [
      [3, 1],
      [0.701107, 0.298893],
    ],
    [
      [5, 5, 1],
      [0.419892, 0.419892, 0.160216],
    ],
    [
      [10, 9, 2],
      [0.782809, 0.14692, 0.070271],
    ],
    [
      [20, 20, 1],
      [0.492311, 0.492311, 0.015378],
    ],
  ])('k %j, the gap to the freshest', (ks, expected) => {
    expectClose(weigh(ks, freshest), expected);
  });

  it('gives the gap to nobody when told so', () => {
    expectClose(weigh([3, 1], initial), [0.552486, 0.447514]);
  });

  it('is the same for both gap rules where no age is missing', () => {
    expectClose(weigh([3, 2], initial), weigh([3, 2], freshest));
  });

  it('follows the members, not the order of their ages', () => {
    expectClose(weigh([1, 5, 5], freshest), [0.160216, 0.419892, 0.419892]);
  });

  it('depends on differences of k alone', () => {
    expectClose(weigh([1_000_003, 1_000_001], freshest), weigh([3, 1], freshest));
  });
});

describe('any weights', () => {
  const cases: readonly (readonly number[])[] = [[7], [1, 1], [0, 0, 0, 0, 0], [100_000, 1], [1, 2, 3, 4, 5, 6, 7, 8]];
  const rules: readonly WeightRule[] = [
    constant,
    freshest,
    initial,
    { rule: 'dynamic', alpha: 0.999, gap: 'freshest' },
    { rule: 'dynamic', alpha: 0.001, gap: 'initial' },
  ];
  it.each(rules)('sum to 1 and are not negative: %j', (rule) => {
    for (const ks of cases) {
      const weights = weigh(ks, rule);
      expect(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1)).toBeLessThanOrEqual(1e-12);
      for (const weight of weights) expect(weight).toBeGreaterThanOrEqual(0);
    }
  });

  it('are equal when constant, whatever the ages', () => {
    expect(weigh([9, 1, 4, 4], constant)).toEqual([0.25, 0.25, 0.25, 0.25]);
  });
});

describe('members with values that are not finite', () => {
  it('weigh nothing, and the others as if they were alone', () => {
    expectClose(weigh([9, 3, 1], freshest, [0]), [0, ...weigh([3, 1], freshest)]);
    expect(weigh([1, 1, 1], constant, [1])).toEqual([0.5, 0, 0.5]);
  });

  it('all weigh the same where nobody is finite', () => {
    expect(weigh([1, 1], constant, [0, 1])).toEqual([0.5, 0.5]);
  });
});
