/**
 * Simulated runs of the strategies with servers: what they learn, who waits for whom, and what pushing and pulling costs.
 */
import { describe, expect, it } from 'vitest';
import type { ServerStrategyName } from '../core/config.js';
import { simulate } from './simulate.js';
import type { SimulateOptions } from './simulate-options.js';

const SERVED = ['ps-bsp', 'ps-asp', 'ps-ssp', 'ps-backup', 'ps-hete'] as const satisfies readonly ServerStrategyName[];

/** Nothing is sent, nothing is waited for on the way. */
const FREE = { latencyMs: 0, bitsPerSecond: Number.POSITIVE_INFINITY } as const;

/** Milliseconds of a round of everybody, once the run has settled. */
function roundMs(options: SimulateOptions & { readonly workers: number }): number {
  const wall = (rounds: number): number => 1000 * simulate({ ...options, steps: options.workers * rounds }).wallSeconds;
  return (wall(30) - wall(10)) / 20;
}

describe.each(SERVED)('%s', (strategy) => {
  const options: SimulateOptions = { strategy, workers: 6, servers: 2, noise: 0.4, slow: ['hl:2'], steps: 600 };

  it('goes the same way for the same seed, another for another', () => {
    const first = simulate(options);
    expect(simulate(options)).toEqual(first);
    expect(simulate({ ...options, seed: 2 }).traceHash).not.toBe(first.traceHash);
  });

  it('reaches the optimum of a noisy quadratic', () => {
    const result = simulate({ ...options, learningRate: 0.02, steps: 6 * 1500 });
    expect(result.curve[0]?.loss).toBeGreaterThan(0.1);
    expect(result.testLoss).toBeLessThan(0.01);
    expect(result.faults).toEqual({});
  });

  it('trains the same model however many servers share it, where communication is free', () => {
    const [one, three] = [1, 3].map((servers) => simulate({ ...options, ...FREE, servers }));
    expect(three?.curve).toEqual(one?.curve);
  });

  it('ends when it diverges, without a model', () => {
    const result = simulate({ ...options, learningRate: 1e6 });
    expect(result.testLoss).toBeNull();
    expect(result.faults['not-finite']).toBeGreaterThan(0);
  });
});

describe('updates', () => {
  it('of ps-bsp are those of all-reduce', () => {
    const [served, reduced] = ['ps-bsp', 'all-reduce'].map((strategy) =>
      simulate({ ...FREE, strategy, workers: 5, noise: 0.2, momentum: 0.5, steps: 500 }),
    );
    expect(served?.updates).toBe(reduced?.updates);
    expect(served?.testLoss).toBeCloseTo(reduced?.testLoss ?? Number.NaN, 6);
  });

  it.each([0, 2, 5])('of ps-ssp with s = %i do not come from far ahead', (staleness) => {
    const { stepsPerWorker } = simulate({
      strategy: 'ps-ssp',
      workers: 4,
      staleness,
      slow: ['straggler:3,10'],
      steps: 400,
    });
    const ahead = Math.max(...stepsPerWorker) - Math.min(...stepsPerWorker);
    // The step after the last one that may be applied is taken, and waits.
    expect(ahead).toBeLessThanOrEqual(staleness + 1);
    expect(ahead).toBeGreaterThanOrEqual(staleness);
  });

  it('of ps-backup do not wait for a straggler, those of ps-bsp do', () => {
    const options = { ...FREE, workers: 4, slow: ['straggler:3,10'], steps: 310 };
    // By hand: the others take 30 steps in the second of the straggler's one, which is late and is discarded.
    expect(simulate({ ...options, strategy: 'ps-backup' }).wallSeconds).toBeCloseTo(10, 0);
    expect(simulate({ ...options, strategy: 'ps-backup', backups: 0 }).wallSeconds).toBeCloseTo(78, 0);
    expect(simulate({ ...options, strategy: 'ps-bsp' }).wallSeconds).toBeCloseTo(78, 0);
  });
});

describe('time', () => {
  const GIGABIT = {
    computeMs: 100,
    modelBytes: 4e6,
    bitsPerSecond: 1e9,
    latencyMs: 0.5,
    controlLatencyMs: 2,
  } as const;

  // By hand: the slowest computes 400 ms; READY and GROUP take 2 ms each; 4 MB are 32 ms on a link. One server takes in
  // 4 x 32 ms and gives out as much. Of four servers each has a quarter, so that 32 ms, as long as each worker's own link needs.
  it.each([
    { servers: 1, expected: 128 },
    { servers: 2, expected: 64 },
    { servers: 4, expected: 32 },
    { servers: 8, expected: 32 },
  ])('of a ps-bsp round with $servers servers is their links or the workers', ({ servers, expected }) => {
    const served = { ...GIGABIT, strategy: 'ps-bsp', workers: 4, slow: ['straggler:3,4'], servers };
    expect(roundMs(served)).toBeCloseTo(400 + 4 + 2 * (expected + 0.5), 6);
  });

  // By hand: at first both push at once, and the second waits for the first; then they are 32 ms apart, and meet no more.
  it('of an asynchronous worker is spent in the queue of a server only while others are in it', () => {
    const pair = { ...GIGABIT, workers: 2 };
    expect(roundMs({ ...pair, strategy: 'ps-bsp' })).toBeCloseTo(100 + 4 + 2 * (64 + 0.5), 6);
    expect(roundMs({ ...pair, strategy: 'ps-asp' })).toBeCloseTo(100 + 4 + 2 * (32 + 0.5), 6);
  });

  // By hand: 8 workers push 8 x 32 ms each time that everybody has pushed once, more than the 100 ms of an iteration.
  it('of asynchronous workers is that of a server which cannot keep up', () => {
    expect(roundMs({ ...GIGABIT, workers: 8, strategy: 'ps-asp' })).toBeCloseTo(8 * 32, 0);
  });

  it('is spent at full price for bytes: each push sends the model', () => {
    const { bytesSent, localSteps } = simulate({ strategy: 'ps-asp', workers: 4, modelBytes: 4e6, steps: 40 });
    // All pushes, and the final average without servers: 2 (n - 1) / n of the model from each worker.
    expect(bytesSent).toBe(localSteps * 4e6 + 4 * 6e6);
  });
});

describe('options', () => {
  it.each<[SimulateOptions, string]>([
    [{ strategy: 'ps-bsp', servers: 0 }, '--servers: expected a whole number of at least 1, got 0'],
    [{ strategy: 'ps-ssp', staleness: -1 }, '--staleness: expected a whole number of at least 0, got -1'],
    [{ strategy: 'ps-backup', backups: 0.5 }, '--backups: expected a whole number of at least 0, got 0.5'],
    [{ strategy: 'ps-backup', workers: 4, backups: 4 }, 'backups: expected fewer than the 4 workers, got 4'],
    [{ strategy: 'ps-backup', workers: 1 }, 'backups: expected fewer than the 1 workers, got 1'],
  ])('refuses %o', (options, message) => {
    expect(() => simulate({ groupSize: 2, ...options })).toThrow(message);
  });
});
