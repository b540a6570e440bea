import { describe, expect, it } from 'vitest';
import { createSchedule, runSamplesOf, type ScheduleConfig, type ScheduleName, warmUpSamplesOf } from './schedule.js';

function schedule(name: ScheduleName, options: Partial<ScheduleConfig> = {}): (samples: number) => number {
  return createSchedule({ name, warmUpSamples: 0, runSamples: 1000, ...options });
}

describe('createSchedule', () => {
  it.each<[ScheduleName, number, number, number]>([
    // name, warm-up samples, samples, factor
    ['constant', 0, 0, 1],
    ['constant', 0, 1000, 1],
    ['constant', 200, 50, 0.25],
    ['constant', 200, 199, 0.995],
    ['constant', 200, 200, 1],
    ['step', 0, 0, 1],
    ['step', 0, 499, 1],
    ['step', 0, 500, 0.1],
    ['step', 0, 749, 0.1],
    ['step', 0, 750, 0.01],
    ['step', 0, 5000, 0.01],
    ['step', 100, 10, 0.1],
    ['step', 100, 600, 0.1],
    // A warm-up of 800 samples is at 0.75 when the first milestone has passed.
    ['step', 800, 600, 0.075],
    ['cosine', 0, 0, 1],
    // (1 + cos 60 degrees) / 2, then 90, 120 and 180
    ['cosine', 0, 1000 / 3, 0.75],
    ['cosine', 0, 500, 0.5],
    ['cosine', 0, 2000 / 3, 0.25],
    ['cosine', 0, 1000, 0],
    ['cosine', 0, 1200, 0],
    // 400 samples of warm-up leave 600: a third of them is at 600, half at 700
    ['cosine', 400, 100, 0.25],
    ['cosine', 400, 400, 1],
    ['cosine', 400, 600, 0.75],
    ['cosine', 400, 700, 0.5],
    ['cosine', 400, 1000, 0],
  ])('%s, warm-up %i, at %d samples of 1000: %d', (name, warmUpSamples, samples, factor) => {
    expect(schedule(name, { warmUpSamples })(samples)).toBeCloseTo(factor, 12);
  });

  it('needs no length for a constant rate, warmed up or not', () => {
    expect(schedule('constant', { runSamples: null })(1e9)).toBe(1);
    expect(schedule('constant', { runSamples: null, warmUpSamples: 10 })(5)).toBe(0.5);
  });

  it.each(['step', 'cosine'] as const)('refuses %s for a run of unknown length', (name) => {
    expect(() => schedule(name, { runSamples: null })).toThrow(
      expect.objectContaining({ code: 'bad-option', message: expect.stringContaining('--epochs or --steps') }),
    );
  });
});

describe('warmUpSamplesOf', () => {
  it.each<[number, number | null, number]>([
    [0, 1000, 0],
    [0, null, 0],
    [0.05, 1000, 50],
    [0.5, 3, 1.5],
    [1, 1000, 1],
    [999, 1000, 999],
    [640, null, 640],
  ])('%d of a run of %s samples: %d', (warmUp, runSamples, samples) => {
    expect(warmUpSamplesOf(warmUp, runSamples)).toBe(samples);
  });

  it.each<[number, number | null, string]>([
    [-0.1, 1000, 'a share of the run below 1'],
    [1.5, 1000, 'a whole number of samples'],
    [Number.NaN, 1000, 'got NaN'],
    [0.1, null, "the run's length is not known"],
    [1000, 1000, 'fewer than the 1000 samples'],
  ])('refuses %d of a run of %s samples', (warmUp, runSamples, message) => {
    expect(() => warmUpSamplesOf(warmUp, runSamples)).toThrow(
      expect.objectContaining({ code: 'bad-option', message: expect.stringContaining(message) }),
    );
  });
});

describe('runSamplesOf', () => {
  it.each<[number | null, number | null, number | null]>([
    [3, null, 300],
    [null, 7, 70],
    [3, 7, 70],
    [3, 70, 300],
    [null, null, null],
  ])('%s epochs of 100 samples, %s steps of 10: %s', (epochs, steps, samples) => {
    expect(runSamplesOf({ sampleCount: 100, batchSamples: 10, epochs, steps })).toBe(samples);
  });
});
