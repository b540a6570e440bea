import { describe, expect, it } from 'vitest';
import { describeOptimization, type OptimizationOptions, resolveOptimization } from './optimization.js';

const DEFAULTS = { batchSamples: 10, learningRate: 0.05, momentum: 0.9, epochs: 3, targetAccuracy: 0.9 };

function resolve(
  options: OptimizationOptions,
  runSamples: number | null = 1000,
): ReturnType<typeof resolveOptimization> {
  return resolveOptimization(options, { defaults: DEFAULTS, runSamples });
}

const PLAIN = {
  learningRate: 0.05,
  schedule: { name: 'constant', warmUpSamples: 0, runSamples: 1000 },
  optimizer: 'sgd',
  momentum: 0.9,
  nesterov: false,
  weightDecay: 0,
  averageOptimizer: false,
};

describe('resolveOptimization', () => {
  it.each<[OptimizationOptions, object]>([
    [{}, PLAIN],
    [
      { learningRate: 1, momentum: 0 },
      { ...PLAIN, learningRate: 1, momentum: 0 },
    ],
    [
      { nesterov: true, weightDecay: 0.1 },
      { ...PLAIN, nesterov: true, weightDecay: 0.1 },
    ],
    [
      { schedule: 'cosine', warmUp: 0.1 },
      { ...PLAIN, schedule: { name: 'cosine', warmUpSamples: 100, runSamples: 1000 } },
    ],
    [{ averageOptimizer: true }, { ...PLAIN, averageOptimizer: true }],
    [{ optimizer: 'adamw' }, { ...PLAIN, optimizer: 'adamw', learningRate: 0.001, momentum: 0, weightDecay: 0.01 }],
    [
      { optimizer: 'adamw', learningRate: 0.5, weightDecay: 0 },
      { ...PLAIN, optimizer: 'adamw', learningRate: 0.5, momentum: 0 },
    ],
  ])('%j', (options, expected) => {
    expect(resolve(options)).toEqual(expected);
  });

  it.each<[OptimizationOptions, string]>([
    [{ optimizer: 'adam' }, 'did you mean adamw?'],
    [{ schedule: 'cosin' }, 'did you mean cosine?'],
    [{ learningRate: 0 }, '--lr: expected a number above 0'],
    [{ learningRate: Number.NaN }, '--lr'],
    [{ momentum: 1 }, '--momentum: expected a number from 0 to below 1'],
    [{ weightDecay: -1 }, '--weight-decay: expected a number of at least 0'],
    [{ warmUp: 1000 }, '--warm-up'],
    [{ nesterov: true, momentum: 0 }, '--nesterov: expected --momentum above 0'],
    [{ optimizer: 'adamw', momentum: 0.9 }, '--momentum: expected --optimizer sgd'],
    [{ optimizer: 'adamw', nesterov: true }, '--nesterov: expected --optimizer sgd'],
  ])('refuses %j', (options, message) => {
    expect(() => resolve(options)).toThrow(
      expect.objectContaining({ code: 'bad-option', message: expect.stringContaining(message) }),
    );
  });

  it('refuses a falling rate for a run of unknown length', () => {
    expect(() => resolve({ schedule: 'step' }, null)).toThrow(/--schedule step: expected a run whose length is known/);
    expect(resolve({}, null).schedule.runSamples).toBeNull();
  });
});

describe('describeOptimization', () => {
  it.each<[OptimizationOptions, string]>([
    [{}, 'SGD, learning rate 0.05, momentum 0.9'],
    [
      { schedule: 'cosine', warmUp: 5, nesterov: true, weightDecay: 0.1, averageOptimizer: true },
      'SGD, learning rate 0.05, cosine schedule, warm-up of 5 samples, Nesterov momentum 0.9, weight decay 0.1, state averaged',
    ],
    [{ optimizer: 'adamw' }, 'AdamW, learning rate 0.001, weight decay 0.01'],
  ])('%j: %s', (options, words) => {
    expect(describeOptimization(resolve(options))).toBe(words);
  });
});
