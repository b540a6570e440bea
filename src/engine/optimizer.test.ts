import { describe, expect, it } from 'vitest';
import { createSgd } from './optimizer.js';

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
