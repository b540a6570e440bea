import { describe, expect, it } from 'vitest';
import { drawSteps, runSteps } from '../../test/reference/optimizer.js';
import { createSgd, type SgdOptions } from './optimizer.js';

/** torch.optim.SGD of one parameter, in float64. */
function referenceSgd(x: number, gradients: readonly number[], rates: readonly number[], options: SgdOptions): number {
  const { momentum, nesterov = false, weightDecay = 0 } = options;
  let value = x;
  let velocity = 0;
  gradients.forEach((gradient, step) => {
    const decayed = gradient + weightDecay * value;
    velocity = momentum * velocity + decayed;
    value -= (rates[step] as number) * (nesterov ? decayed + momentum * velocity : velocity);
  });
  return value;
}

/** Worked by hand with learning rate 0.5, x = 2, gradients 1 and then 3; every number is exact in float32. */
const cases = [
  { momentum: 0, weightDecay: 0, after: [1.5, 0], velocity: [] },
  { momentum: 0, weightDecay: 0.5, after: [1, -0.75], velocity: [] },
  // v: 1, then 0.5 + 3 = 3.5
  { momentum: 0.5, weightDecay: 0, after: [1.5, -0.25], velocity: [1, 3.5] },
  // v: 1 + 1 = 2, then 1 + 3 + 0.5 = 4.5
  { momentum: 0.5, weightDecay: 0.5, after: [1, -1.25], velocity: [2, 4.5] },
];

describe('createSgd', () => {
  it.each(cases)('momentum $momentum, weight decay $weightDecay', ({ momentum, weightDecay, after, velocity }) => {
    const optimizer = createSgd(1, { momentum, weightDecay });
    const x = Float32Array.of(2);
    [1, 3].forEach((gradient, step) => {
      const g = Float32Array.of(gradient);
      optimizer.step(x, g, 0.5);
      expect([x[0], g[0]]).toEqual([after[step], gradient]);
      expect([...optimizer.state]).toEqual(velocity.slice(step, step + 1));
    });
  });

  it.each<SgdOptions>([
    { momentum: 0 },
    { momentum: 0, weightDecay: 0.1 },
    { momentum: 0.9 },
    { momentum: 0.9, weightDecay: 0.1 },
    { momentum: 0.9, nesterov: true },
    { momentum: 0.5, nesterov: true, weightDecay: 0.1 },
  ])('agrees with the reference over many steps: %o', (options) => {
    const steps = drawSteps({ length: 5, count: 30 });
    const found = runSteps(createSgd(5, options), steps);
    steps.start.forEach((x, i) => {
      const expected = referenceSgd(x, steps.perParameter(i), steps.rates, options);
      expect(Math.abs((found[i] as number) - expected)).toBeLessThan(1e-5);
    });
  });

  it('looks ahead with Nesterov', () => {
    const optimizer = createSgd(1, { momentum: 0.5, nesterov: true, weightDecay: 0.5 });
    const x = Float32Array.of(2);
    // g = 1 + 1, v = 2: x = 2 - 0.5 * (2 + 1)
    optimizer.step(x, Float32Array.of(1), 0.5);
    expect([x[0], optimizer.state[0]]).toEqual([0.5, 2]);
    // g = 3 + 0.25, v = 1 + 3.25: x = 0.5 - 0.5 * (3.25 + 2.125)
    optimizer.step(x, Float32Array.of(3), 0.5);
    expect([x[0], optimizer.state[0]]).toEqual([-2.1875, 4.25]);
  });

  it('applies a new learning rate to the whole velocity', () => {
    const optimizer = createSgd(1, { momentum: 0.5 });
    const x = Float32Array.of(0);
    optimizer.step(x, Float32Array.of(8), 1);
    optimizer.step(x, Float32Array.of(0), 0.25);
    expect(x[0]).toBe(-9);
  });

  it('goes on from a state that is written into it, and forgets it on reset', () => {
    const optimizer = createSgd(2, { momentum: 0.5 });
    const x = new Float32Array(2);
    optimizer.state.set([4, -4]);
    optimizer.step(x, new Float32Array(2), 1);
    expect([...x]).toEqual([-2, 2]);
    optimizer.reset();
    optimizer.step(x, new Float32Array(2), 1);
    expect([...x]).toEqual([-2, 2]);
  });

  it.each([
    { momentum: 1, message: 'momentum lies in [0, 1)' },
    { momentum: Number.NaN, message: 'momentum lies in [0, 1)' },
    { momentum: 0, nesterov: true, message: 'Nesterov needs momentum' },
    { momentum: 0.9, weightDecay: -1, message: 'weight decay is not negative' },
  ])('refuses $message', ({ message, ...options }) => {
    expect(() => createSgd(1, options)).toThrow(message);
  });

  it('refuses vectors of another length', () => {
    const optimizer = createSgd(2, { momentum: 0.9 });
    expect(() => optimizer.step(new Float32Array(2), new Float32Array(3), 1)).toThrow('2 parameters');
    expect(() => optimizer.step(new Float32Array(3), new Float32Array(2), 1)).toThrow('2 parameters');
  });
});
