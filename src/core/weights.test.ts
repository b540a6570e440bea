import { describe, expect, it } from 'vitest';
import type { WeightRule } from './config.js';
import { groupWeights } from './weights.js';

const freshest: WeightRule = { rule: 'dynamic', alpha: 0.9, gap: 'freshest' };
const initial: WeightRule = { rule: 'dynamic', alpha: 0.9, gap: 'initial' };
const constant: WeightRule = { rule: 'constant' };

function weigh(ks: readonly number[], rule: WeightRule, notFinite: readonly number[] = []): readonly number[] {
  return groupWeights(
    ks.map((k, i) => ({ k, samples: 10 * i, finite: !notFinite.includes(i) })),
    { rule, weighting: 'equal' },
  );
}

/** Members given by k and samples. */
function weighBySamples(
  members: readonly (readonly [k: number, samples: number])[],
  rule: WeightRule,
  notFinite: readonly number[] = [],
): readonly number[] {
  return groupWeights(
    members.map(([k, samples], i) => ({ k, samples, finite: !notFinite.includes(i) })),
    { rule, weighting: 'samples' },
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

describe('weighting by samples', () => {
  it.each<[string, readonly (readonly [number, number])[], WeightRule, readonly number[]]>([
    [
      'constant: shares of the samples',
      [
        [3, 10],
        [3, 30],
      ],
      constant,
      [0.25, 0.75],
    ],
    [
      'constant: staleness does not matter',
      [
        [9, 10],
        [3, 30],
      ],
      constant,
      [0.25, 0.75],
    ],
    [
      'dynamic, equal samples: the plain weights',
      [
        [3, 16],
        [1, 16],
      ],
      freshest,
      [0.701107, 0.298893],
    ],
    // .701107 x 10 and .298893 x 20, divided by their sum
    [
      'dynamic: both count',
      [
        [3, 10],
        [1, 20],
      ],
      freshest,
      [0.539773, 0.460227],
    ],
    [
      'dynamic, gap initial',
      [
        [3, 10],
        [1, 20],
      ],
      initial,
      [0.381679, 0.618321],
    ],
    [
      'a member without samples weighs nothing',
      [
        [3, 0],
        [3, 8],
      ],
      constant,
      [0, 1],
    ],
    [
      'nobody has samples: as without',
      [
        [3, 0],
        [1, 0],
      ],
      freshest,
      [0.701107, 0.298893],
    ],
  ])('%s', (_, members, rule, expected) => {
    const weights = weighBySamples(members, rule);
    expectClose(weights, expected);
    expect(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1)).toBeLessThanOrEqual(1e-12);
  });

  it('leaves members out that are not finite, however many samples they have', () => {
    expectClose(
      weighBySamples(
        [
          [3, 1000],
          [3, 10],
          [3, 30],
        ],
        constant,
        [0],
      ),
      [0, 0.25, 0.75],
    );
  });
});
