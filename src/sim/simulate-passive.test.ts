/**
 * Simulated runs of the strategies whose workers take part in groups while they compute.
 */
import { describe, expect, it } from 'vitest';
import { simulate } from './simulate.js';
import type { SimulateOptions } from './simulate-options.js';

/** Nothing is sent, nothing is waited for on the way. */
const FREE = { latencyMs: 0, bitsPerSecond: Number.POSITIVE_INFINITY } as const;

const PASSIVE: readonly SimulateOptions[] = [
  { strategy: 'ad-psgd' },
  { strategy: 'eager-reduce' },
  { strategy: 'eager-reduce', eager: 'solo' },
];

describe.each(PASSIVE)('$strategy $eager', (strategy) => {
  const options: SimulateOptions = { ...strategy, workers: 6, noise: 0.4, slow: ['hl:2'], steps: 600 };

  it('goes the same way for the same seed, another for another', () => {
    const first = simulate(options);
    expect(simulate(options)).toEqual(first);
    expect(simulate({ ...options, seed: 2 }).traceHash).not.toBe(first.traceHash);
  });

  it('reaches the optimum of a noisy quadratic', () => {
    const result = simulate({ ...options, learningRate: 0.05, steps: 6 * 400 });
    expect(result.curve[0]?.loss).toBeGreaterThan(0.1);
    expect(result.testLoss).toBeLessThan(0.01);
    expect(result.faults).toEqual({});
  });

  it('ends when it diverges, without a model', () => {
    const result = simulate({ ...options, learningRate: 1e6 });
    expect(result.testLoss).toBeNull();
    expect(result.faults['not-finite']).toBeGreaterThan(0);
  });
});

describe('a straggler', () => {
  const options = { ...FREE, workers: 4, slow: ['straggler:3,10'], computeMs: 100, noise: 0.02, steps: 3100 };

  it('of an odd number keeps nobody waiting in ad-psgd', () => {
    // By hand: three workers take 10 steps a second, one takes 1.
    const { localSteps, wallSeconds } = simulate({ ...options, strategy: 'ad-psgd' });
    expect(localSteps / wallSeconds).toBeGreaterThan(0.95 * 31);
    expect(localSteps / wallSeconds).toBeLessThan(1.05 * 31);
  });

  it('takes part in the rounds of eager-reduce while it computes', () => {
    const { updates, stepsPerWorker, replicaDistance } = simulate({
      ...options,
      strategy: 'eager-reduce',
      eager: 'solo',
    });
    expect(updates).toBeGreaterThan(9 * (stepsPerWorker[3] ?? Number.NaN));
    // Everybody has applied every round.
    expect(replicaDistance).toBeLessThan(1e-6);
  });
});
