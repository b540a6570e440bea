import { describe, expect, it } from 'vitest';
import { simulate } from './simulate.js';
import type { SimulateOptions } from './simulate-options.js';

/** Nothing is sent, nothing is waited for on the way. */
const FREE = { latencyMs: 0, bitsPerSecond: Number.POSITIVE_INFINITY } as const;
const STRATEGIES = ['partial-reduce', 'all-reduce', 'local-sgd'] as const;

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

describe.each(STRATEGIES)('%s', (strategy) => {
  const options: SimulateOptions = { strategy, workers: 6, groupSize: 3, noise: 0.4, slow: ['hl:2'], steps: 600 };

  it('goes the same way for the same seed, another for another', () => {
    const [first, again] = [simulate(options), simulate(options)];
    expect(again).toEqual(first);
    expect(simulate({ ...options, seed: 2 }).traceHash).not.toBe(first.traceHash);
  });

  it('accounts for all steps and all time', () => {
    const result = simulate(options);
    expect(sum(result.stepsPerWorker)).toBe(result.localSteps);
    expect(result.localSteps).toBeGreaterThanOrEqual(600);
    expect(result.samples).toBe(32 * result.localSteps);
    expect(result.idleShare + result.reduceShare).toBeGreaterThan(0);
    expect(result.idleShare + result.reduceShare).toBeLessThan(1);
    expect(result.faults).toEqual({});
    expect(result.curve.at(-1)?.timeMs).toBeCloseTo(1000 * result.wallSeconds, 6);
  });

  it('comes to rest at the optimum of a quadratic without noise', () => {
    const result = simulate({ ...options, gradientNoise: 0, steps: 6 * 1500 });
    expect(result.curve[0]?.loss).toBeGreaterThan(0.1);
    expect(result.testLoss).toBeLessThan(1e-8);
  });

  it('learns to classify', () => {
    const result = simulate({ ...options, problem: 'logistic' });
    expect(result.testAccuracy).toBeGreaterThan(0.75);
    expect(result.testLoss).toBeLessThan(0.8 * Math.log(2));
  });

  it('ends when the target is reached, or the time is up', () => {
    const reached = simulate({ ...options, targetLoss: 1 });
    expect(reached.targetSeconds).toBeGreaterThan(0);
    expect(reached.targetSeconds).toBeLessThan(reached.wallSeconds);
    expect(reached.localSteps).toBeLessThan(600);
    const timed = simulate({ ...options, steps: null, durationMs: 5000 });
    expect(timed.wallSeconds).toBeGreaterThanOrEqual(5);
    // One more round at most, with noise: far from a run that would not end.
    expect(timed.wallSeconds).toBeLessThan(20);
    expect(timed.targetSeconds).toBeNull();
  });

  it('ends when the accuracy is reached', () => {
    const result = simulate({ ...options, problem: 'logistic', targetAccuracy: 0.7 });
    expect(result).toMatchObject({ targetLoss: null, targetAccuracy: 0.7 });
    expect(result.targetSeconds).toBeLessThan(result.wallSeconds);
    expect(result.localSteps).toBeLessThan(600);
  });

  it('ends when it diverges, without a model', () => {
    const result = simulate({ ...options, learningRate: 1e6 });
    expect(result.testLoss).toBeNull();
    expect(result.faults['not-finite']).toBeGreaterThan(0);
  });
});

describe('time', () => {
  // By hand: the slowest computes 400 ms; 4 MB in quarters, three of them sent in each of two rounds: 2 x (0.5 + 24) ms; READY
  // and GROUP are 2 ms under way each.
  it("is the slowest worker's compute, two messages and the plan's price in each round of all-reduce", () => {
    const wall = (rounds: number): number =>
      1000 *
      simulate({
        strategy: 'all-reduce',
        workers: 4,
        slow: ['straggler:3,4'],
        computeMs: 100,
        modelBytes: 4e6,
        bitsPerSecond: 1e9,
        latencyMs: 0.5,
        controlLatencyMs: 2,
        collective: 'direct',
        steps: 4 * rounds,
      }).wallSeconds;
    expect((wall(30) - wall(10)) / 20).toBeCloseTo(400 + 49 + 4, 6);
    // START before the first round; after the last one DONE and FINISHED, and GROUP, 49 ms and DONE of the final average.
    expect(wall(10)).toBeCloseTo(2 + 10 * 453 + 2 + 2 + 49 + 2, 6);
  });

  // By hand: five workers take 10 steps a second, three 10/3: 60 together if nobody waited, 8 x 10/3 where all wait for the slowest.
  it('is hardly lost by partial reduce with three slow workers of eight, unlike by all-reduce', () => {
    const options = { ...FREE, workers: 8, groupSize: 3, slow: ['hl:3'], computeMs: 100, steps: 8000 };
    const rate = (more: SimulateOptions): number => {
      const { localSteps, wallSeconds } = simulate({ ...options, ...more });
      return localSteps / wallSeconds;
    };
    expect(rate({ strategy: 'all-reduce' })).toBeCloseTo(80 / 3, 6);
    // Some noise, as on any machine: who is ready first is another each time.
    expect(rate({ noise: 0.02 })).toBeGreaterThan(0.9 * 60);
    expect(rate({ noise: 0.02 })).toBeLessThan(1.02 * 60);
    // By hand, in exact step: two fast workers wait while three compute (a b, c d e). 100 ms: a b c meet. 200 ms: d e a meet.
    // 300 ms: b c and a slow one meet, two slow ones and d meet, e a wait. Four groups of three in 300 ms.
    expect(rate({ filter: 'none' })).toBeCloseTo(40, 0);
  });

  it('is the measured one where there is a trace', () => {
    const trace = { anybody: [], byWorker: new Map([0, 1, 2].map((worker) => [worker, [10, 30]])) };
    const result = simulate({ ...FREE, strategy: 'all-reduce', workers: 3, trace, steps: 3 * 10 });
    expect(result.wallSeconds).toBeCloseTo((5 * (10 + 30)) / 1000, 9);
  });

  it('is spent at full price for bytes: all-reduce sends 2 (n - 1) / n of the model from each member', () => {
    const result = simulate({ strategy: 'all-reduce', workers: 4, modelBytes: 4e6, steps: 40 });
    // Ten rounds and the final average.
    expect(result.bytesSent).toBe(11 * 4 * 6e6);
  });
});

// Equal workers come as (0,1),(2,3),(0,1),(2,3) for ever; each has an optimum of its own, so that who never meets stays apart.
describe('a pattern of arrivals that freezes groups', () => {
  const crafted: SimulateOptions = {
    ...FREE,
    workers: 4,
    groupSize: 2,
    weights: 'constant',
    spread: 1,
    gradientNoise: 0,
    steps: 4 * 500,
  };

  it('keeps two components apart without a filter', () => {
    const frozen = simulate({ ...crafted, filter: 'none' });
    expect(frozen.rho).toBeCloseTo(1, 9);
    expect(frozen.maxGroupsToConnect).toBe(0);
  });

  it.each(['epoch', 'window'] as const)('mixes them with filter %s', (filter) => {
    const frozen = simulate({ ...crafted, filter: 'none' });
    const mixed = simulate({ ...crafted, filter });
    expect(mixed.rho).toBeLessThan(0.95);
    expect(mixed.maxGroupsToConnect).toBeGreaterThan(0);
    expect(mixed.replicaDistance).toBeLessThan(0.5 * frozen.replicaDistance);
  });
});

// This took minutes when each event cost the number of workers.
it('holds thousands of workers', () => {
  const result = simulate({ workers: 2000, groupSize: 4, steps: 4000, noise: 0.2 });
  expect(result.stepsPerWorker.filter((steps) => steps > 0)).toHaveLength(2000);
});

describe('options', () => {
  it.each<[SimulateOptions, string]>([
    [{ workers: 0 }, '--workers: expected a whole number from 1 to 16384, got 0'],
    [{ workers: 2.5 }, '--workers: expected a whole number'],
    [{ workers: 4, groupSize: 5 }, '--group-size: expected at most the 4 workers of the run, got 5'],
    [{ groupSize: 1 }, '--group-size: expected a whole number of at least 2, got 1'],
    [{ strategy: 'all-reuce' }, 'unknown strategy "all-reuce"'],
    [{ problem: 'cubic' }, 'unknown problem "cubic"'],
    [{ collective: 'tree' }, 'unknown collective "tree"'],
    [{ computeMs: 0 }, '--compute: expected a number above 0, got 0 ms'],
    [{ computeMs: -1 }, '--compute: expected a number above 0, got -1 ms'],
    [{ latencyMs: -0.1 }, '--latency: expected a number of at least 0, got -0.1 ms'],
    [{ controlLatencyMs: Number.NaN }, '--control-latency: expected a number of at least 0, got NaN ms'],
    [{ bitsPerSecond: 0 }, '--bandwidth: expected more than 0 bits per second, or "unlimited", got 0'],
    [{ bitsPerSecond: -1 }, '--bandwidth: expected more than 0'],
    [{ modelBytes: -4 }, '--model-bytes: expected a whole number of at least 0, got -4'],
    [{ noise: -1 }, '--noise: expected a number of at least 0, got -1'],
    [{ slow: ['straggler:8,2'] }, '--slow straggler:8,2: the run has workers 0 to 7'],
    [{ slow: ['straggler:1,-2'] }, 'the factor must be a number of at least 1'],
    [{ learningRate: 0 }, '--lr: expected a number above 0, got 0'],
    [{ momentum: 1 }, '--momentum: expected a number from 0 to below 1, got 1'],
    [{ batchSamples: 0 }, '--batch-size: expected a whole number of at least 1, got 0'],
    [{ dimension: 1 }, '--dimension: expected a whole number of at least 2, got 1'],
    [{ steps: 0 }, '--steps: expected a whole number of at least 1, got 0'],
    [{ durationMs: 0 }, '--duration: expected a number above 0, got 0 ms'],
    [{ targetLoss: 0 }, '--target-loss: expected a number above 0, got 0'],
    [{ targetAccuracy: 0.9 }, '--target-accuracy: expected a --problem with something to classify, got quadratic'],
    [
      { problem: 'logistic', targetAccuracy: 1.5 },
      '--target-accuracy: expected a share above 0 and at most 1, got 1.5',
    ],
    [{ problem: 'logistic', targetAccuracy: 0.9, targetLoss: 1 }, '--target-loss: expected one target'],
    [{ seed: -1 }, '--seed: expected a whole number of at least 0, got -1'],
    [{ alpha: 1 }, 'alpha: expected a number between 0 and 1'],
    [{ connectivityGroups: 0 }, 'connectivity groups: expected a whole number from 1'],
  ])('refuses %o', (options, message) => {
    expect(() => simulate(options)).toThrow(message);
  });

  it('lets one worker train alone', () => {
    const result = simulate({ workers: 1, steps: 50, ...FREE });
    expect(result).toMatchObject({ localSteps: 50, updates: 50, groups: 0, wallSeconds: 5, bytesSent: 0, rho: null });
  });
});
