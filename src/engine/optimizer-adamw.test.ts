import { describe, expect, it } from 'vitest';
import { drawSteps, runSteps } from '../../test/reference/optimizer.js';
import { type AdamWOptions, createAdamW } from './optimizer-adamw.js';

/** torch.optim.AdamW of one parameter, in float64. */
function referenceAdamW(x: number, gradients: readonly number[], rates: readonly number[], options: AdamWOptions) {
  const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0.01 } = options;
  let value = x;
  let mean = 0;
  let square = 0;
  gradients.forEach((gradient, step) => {
    const rate = rates[step] as number;
    value -= rate * weightDecay * value;
    mean = beta1 * mean + (1 - beta1) * gradient;
    square = beta2 * square + (1 - beta2) * gradient ** 2;
    const unbiasedMean = mean / (1 - beta1 ** (step + 1));
    const unbiasedSquare = square / (1 - beta2 ** (step + 1));
    value -= (rate * unbiasedMean) / (Math.sqrt(unbiasedSquare) + epsilon);
  });
  return value;
}

describe('createAdamW', () => {
  it.each<AdamWOptions>([
    {},
    { weightDecay: 0 },
    { weightDecay: 2 },
    { beta1: 0 },
    { beta2: 0 },
    { beta1: 0.5, beta2: 0.9, epsilon: 0.1, weightDecay: 0.5 },
  ])('agrees with the reference over many steps: %o', (options) => {
    const steps = drawSteps({ length: 5, count: 30 });
    const found = runSteps(createAdamW(5, options), steps);
    steps.start.forEach((x, i) => {
      const expected = referenceAdamW(x, steps.perParameter(i), steps.rates, options);
      expect(Math.abs((found[i] as number) - expected)).toBeLessThan(1e-5);
    });
  });

  it('moves by the learning rate at first, whatever the size of the gradient', () => {
    const x = new Float32Array(3);
    createAdamW(3).step(x, Float32Array.of(1e-3, -1, 1e3), 0.5);
    x.forEach((value, i) => expect(value).toBeCloseTo([-0.5, 0.5, -0.5][i] as number, 4));
  });

  it('shrinks parameters without a gradient, by the learning rate times the decay', () => {
    const x = Float32Array.of(8);
    createAdamW(1, { weightDecay: 0.5 }).step(x, Float32Array.of(0), 0.5);
    expect(x[0]).toBe(6);
  });

  it('goes on from a copied state as if never stopped', () => {
    const steps = drawSteps({ length: 4, count: 20 });
    const before = { ...steps, gradients: steps.gradients.slice(0, 7) };
    const stopped = createAdamW(4);
    const start = runSteps(stopped, before);
    const resumed = createAdamW(4);
    resumed.state.set(stopped.state);
    const after = { ...steps, start, gradients: steps.gradients.slice(7), rates: steps.rates.slice(7) };
    expect(runSteps(resumed, after)).toEqual(runSteps(createAdamW(4), steps));
    expect(resumed.state).toHaveLength(9);
    expect(resumed.state[8]).toBe(20);
  });

  it('forgets everything on reset', () => {
    const steps = drawSteps({ length: 4, count: 3 });
    const optimizer = createAdamW(4);
    const first = runSteps(optimizer, steps);
    optimizer.reset();
    expect(optimizer.state.every((value) => value === 0)).toBe(true);
    expect(runSteps(optimizer, steps)).toEqual(first);
  });

  it('only reads the gradient, and refuses vectors of another length', () => {
    const optimizer = createAdamW(2);
    const gradient = Float32Array.of(1, 2);
    optimizer.step(new Float32Array(2), gradient, 1);
    expect([...gradient]).toEqual([1, 2]);
    expect(() => optimizer.step(new Float32Array(2), new Float32Array(3), 1)).toThrow('2 parameters');
    expect(() => optimizer.step(new Float32Array(3), new Float32Array(2), 1)).toThrow('2 parameters');
  });

  it.each([
    { options: { beta1: 1 }, message: 'beta1 lies in [0, 1)' },
    { options: { beta1: -0.1 }, message: 'beta1 lies in [0, 1)' },
    { options: { beta2: Number.NaN }, message: 'beta2 lies in [0, 1)' },
    { options: { epsilon: 0 }, message: 'epsilon lies above 0' },
    { options: { weightDecay: -1 }, message: 'weight decay is not negative' },
  ])('refuses $options', ({ options, message }) => {
    expect(() => createAdamW(1, options)).toThrow(message);
  });
});
