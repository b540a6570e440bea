import { describe, expect, it } from 'vitest';
import { median, medianOf, type Spread, spreadOf } from './median.js';
import { createSummary, type RunSummary } from './summary.js';

function summary(changes: Partial<RunSummary>): RunSummary {
  const empty = createSummary({
    strategy: 'all-reduce',
    workers: 2,
    groupSize: 2,
    weights: null,
    seed: 1,
    targetAccuracy: 0.9,
    out: 'runs/1',
  }).result();
  return { ...empty, ...changes };
}

describe('median', () => {
  it.each<[readonly number[], number]>([
    [[3], 3],
    [[3, 1, 2], 2],
    [[4, 1, 2, 3], 2.5],
    [[10, 9, 2], 9],
    [[1, Infinity, Infinity], Infinity],
  ])('of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  it('asserts that there is a value', () => {
    expect(() => median([])).toThrow('assertion failed');
  });
});

describe('spreadOf', () => {
  it.each<[string, (number | null)[], Spread | null]>([
    ['several', [3, 1, 2], { least: 1, most: 3 }],
    ['one of them unknown: beyond every number', [3, null, 2], { least: 2, most: null }],
    ['none known', [null, null], null],
    ['one alone', [3], null],
  ])('of values, %s', (_, values, expected) => {
    expect(spreadOf(values)).toEqual(expected);
  });
});

describe('medianOf', () => {
  it('takes the median of each number apart, and keeps the runs', () => {
    const runs = [
      summary({ seed: 1, wallSeconds: 3, updates: 30, testAccuracy: 0.9, stepsPerWorker: [1, 9], idleShare: 0.1 }),
      summary({ seed: 2, wallSeconds: 1, updates: 10, testAccuracy: 0.8, stepsPerWorker: [3, 7], idleShare: 0.3 }),
      summary({ seed: 3, wallSeconds: 2, updates: 20, testAccuracy: 0.7, stepsPerWorker: [2, 8], idleShare: 0.2 }),
    ];
    expect(medianOf(runs)).toMatchObject({
      seed: 1,
      wallSeconds: 2,
      updates: 20,
      testAccuracy: 0.8,
      stepsPerWorker: [2, 8],
      idleShare: 0.2,
      out: 'runs/1',
    });
    expect(medianOf(runs).runs).toBe(runs);
  });

  it.each<[string, (number | null)[], number | null]>([
    ['all reached', [5, 3, 4], 4],
    ['one missed: it counts as the slowest', [5, null, 4], 5],
    ['most missed', [5, null, null], null],
    ['the middle two, one of them missed', [5, null], null],
    ['none reached', [null, null], null],
  ])('of the time to target, %s', (_, times, expected) => {
    expect(medianOf(times.map((targetSeconds) => summary({ targetSeconds }))).targetSeconds).toBe(expected);
  });

  it('leaves unknown accuracies out, adds faults up and fills in missing workers', () => {
    const merged = medianOf([
      summary({ testAccuracy: null, rho: null, faults: { death: 1 }, stepsPerWorker: [4] }),
      summary({ testAccuracy: 0.5, rho: 0.2, faults: { death: 2, abort: 1 }, stepsPerWorker: [4, 2] }),
    ]);
    expect(merged).toMatchObject({
      testAccuracy: 0.5,
      rho: 0.2,
      faults: { death: 3, abort: 1 },
      stepsPerWorker: [4, 1],
    });
  });

  it('gives a lone run its own numbers', () => {
    const run = summary({ wallSeconds: 2, targetSeconds: 1, testLoss: 0.4, stepsPerWorker: [1, 2] });
    expect(medianOf([run])).toEqual({ ...run, runs: [run] });
  });
});
