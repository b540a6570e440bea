/**
 * The times of strategies whose workers do not all wait for each other, by hand, and all strategies beside each other.
 */
import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../observe/run-events.js';
import { STRATEGY_NAMES } from '../core/strategies/strategies.js';
import type { SimulateOptions } from './simulate-options.js';
import { simulate } from './simulate.js';

/** READY and GROUP take 2 ms each, an average of two 2 x (16 + 0.5) ms. */
const PAIR = {
  workers: 2,
  computeMs: 100,
  modelBytes: 4e6,
  bitsPerSecond: 1e9,
  latencyMs: 0.5,
  controlLatencyMs: 2,
  collective: 'direct',
} as const satisfies SimulateOptions;

/** When the controller heard the first READYs of each worker. */
function readyTimes(options: SimulateOptions, count: number): readonly (readonly number[])[] {
  const times: number[][] = Array.from({ length: options.workers ?? 0 }, () => []);
  simulate(options, (event: RunEvent) => {
    if (event.type === 'ready') times[event.worker]?.push(event.timeMs);
  });
  return times.map((each) => each.slice(0, count));
}

describe('the first iterations', () => {
  // By hand: START takes 2 ms. The even worker: 100 + 4 + 33 each. The odd one: 100 each, but what is due at 402 and 813 ms falls into
  // collectives of 380 to 413 and 791 to 824 ms, which have its replica.
  it('of ad-psgd wait for an average where the odd worker is due within one', () => {
    const [even, odd] = readyTimes({ ...PAIR, strategy: 'ad-psgd', steps: 40 }, 8);
    expect(even).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((round) => 104 + 137 * round));
    expect(odd).toEqual([104, 204, 304, 415, 515, 615, 715, 826]);
  });

  // By hand: the fast one begins every round and waits for it; the slow one is three times slower, and rounds have come meanwhile.
  it('of eager-reduce wait for nobody who computes', () => {
    const options = { ...PAIR, strategy: 'eager-reduce', eager: 'solo', slow: ['straggler:1,3'], steps: 40 } as const;
    const [fast, slow] = readyTimes(options, 5);
    expect(fast).toEqual([0, 1, 2, 3, 4].map((round) => 104 + 137 * round));
    expect(slow).toEqual([304, 604, 904, 1204, 1504]);
  });

  it('of eager-reduce send what an average among all does', () => {
    const { bytesSent, groups } = simulate({ ...PAIR, strategy: 'eager-reduce', steps: 40 });
    // The final average, too.
    expect(bytesSent).toBe(8e6 * (groups + 1));
  });
});

describe('three of eight workers three times slower, free communication', () => {
  const options: SimulateOptions = {
    workers: 8,
    groupSize: 3,
    backups: 3,
    slow: ['hl:3'],
    noise: 0.02,
    latencyMs: 0,
    bitsPerSecond: Number.POSITIVE_INFINITY,
    steps: 8 * 200,
  };
  const results = new Map(STRATEGY_NAMES.map((strategy) => [strategy, simulate({ ...options, strategy })] as const));
  const perUpdate = (strategy: (typeof STRATEGY_NAMES)[number]): number => {
    const result = results.get(strategy);
    return result === undefined ? Number.NaN : (1000 * result.wallSeconds) / result.updates;
  };
  const rate = (strategy: (typeof STRATEGY_NAMES)[number]): number => {
    const result = results.get(strategy);
    return result === undefined ? Number.NaN : result.localSteps / result.wallSeconds;
  };

  // By hand, in ms: all wait for the slow ones, 300; 60 steps a second are taken where nobody waits.
  it.each([
    ['all-reduce', 300],
    ['ps-bsp', 300],
    ['partial-reduce', 3 * 16.7],
    ['ps-asp', 16.7],
    ['ps-hete', 16.7],
    // Nobody is more than three iterations ahead for long.
    ['ps-ssp', 300 / 8],
    // Five fast workers make a round.
    ['ps-backup', 100],
    // Even workers begin: three fast ones, 10 a second each, and a slow one.
    ['ad-psgd', 1000 / 33.3],
  ] as const)('an update of %s takes about %i ms', (strategy, expected) => {
    expect(perUpdate(strategy) / expected).toBeGreaterThan(0.9);
    expect(perUpdate(strategy) / expected).toBeLessThan(1.15);
  });

  it('leaves all-reduce, and what does the same, behind all others', () => {
    const others = STRATEGY_NAMES.filter((strategy) => !['all-reduce', 'ps-bsp', 'local-sgd'].includes(strategy));
    expect(others).toHaveLength(7);
    for (const strategy of others) expect(perUpdate(strategy)).toBeLessThan(0.9 * perUpdate('all-reduce'));
    // One update of eight steps each, which waits for the slow ones as eight do.
    expect(rate('local-sgd') / rate('all-reduce')).toBeGreaterThan(0.95);
    expect(rate('local-sgd') / rate('all-reduce')).toBeLessThan(1.05);
  });
});

describe('options', () => {
  it.each<[SimulateOptions, string]>([
    [{ strategy: 'eager-reduce', eager: 'first' as 'solo' }, 'unknown eager rule "first"'],
    [{ workersPerHost: 0 }, '--workers-per-host: expected a whole number of at least 1, got 0'],
    [{ hostBitsPerSecond: 0 }, '--host-bandwidth: expected more than 0 bits per second, or "unlimited", got 0'],
    [{ strategy: 'ps-aps' }, 'unknown strategy "ps-aps"'],
  ])('refuses %o', (options, message) => {
    expect(() => simulate(options)).toThrow(message);
  });
});
