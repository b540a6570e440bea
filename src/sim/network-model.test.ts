import { describe, expect, it } from 'vitest';
import { createNetworkModel, type NetworkOptions } from './network-model.js';

const GIGABIT: NetworkOptions = {
  latencyMs: 0.5,
  controlLatencyMs: 0.1,
  bitsPerSecond: 1e9,
  modelBytes: 12e6,
};

describe('createNetworkModel', () => {
  // By hand: 12 MB in thirds of 4 MB; a member sends two of them in each of two rounds: 2 x (0.5 ms + 8 MB at 125 kB/ms).
  it('prices a direct plan by its two rounds', () => {
    const price = createNetworkModel(GIGABIT).priceOf('direct', 3);
    expect(price.durationMs).toBeCloseTo(2 * (0.5 + 64), 9);
    expect([0, 1, 2].map(price.bytesSent)).toEqual([16e6, 16e6, 16e6]);
  });

  // A ring of three has four rounds of one third each.
  it('prices a ring by its 2 (n - 1) rounds', () => {
    const price = createNetworkModel(GIGABIT).priceOf('ring', 3);
    expect(price.durationMs).toBeCloseTo(4 * (0.5 + 32), 9);
    expect([0, 1, 2].map(price.bytesSent)).toEqual([16e6, 16e6, 16e6]);
  });

  // By hand: 2 x 499 parts of 24 kB leave each member, at 125 kB/ms.
  it.each(['direct', 'ring'] as const)('prices %s among many', (plan) => {
    const price = createNetworkModel({ ...GIGABIT, latencyMs: 0 }).priceOf(plan, 500);
    expect(price.durationMs).toBeCloseTo((998 * 24_000) / 125_000, 9);
    expect([0, 250, 499].map(price.bytesSent)).toEqual([23_952_000, 23_952_000, 23_952_000]);
  });

  it.each([
    ['one member', { count: 1, options: {}, expected: 0 }],
    ['an empty model', { count: 4, options: { modelBytes: 0 }, expected: 0 }],
    ['latency alone', { count: 4, options: { bitsPerSecond: Number.POSITIVE_INFINITY }, expected: 1 }],
    ['free communication', { count: 4, options: { latencyMs: 0, bitsPerSecond: Infinity }, expected: 0 }],
    // Parts of 3 and 2 values: who owns the smaller one sends 12 bytes first, who owns the larger one receives 12.
    ['uneven parts', { count: 2, options: { modelBytes: 20, latencyMs: 0, bitsPerSecond: 8000 }, expected: 24 }],
  ])('prices %s', (_, { count, options, expected }) => {
    expect(createNetworkModel({ ...GIGABIT, ...options }).priceOf('direct', count).durationMs).toBeCloseTo(expected, 9);
  });
});
