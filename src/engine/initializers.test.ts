import { describe, expect, it } from 'vitest';
import { createRandom } from '../base/random.js';
import { constant, heUniform, lecunUniform, pytorchUniform } from './initializers.js';

describe('initializers', () => {
  it.each([
    { name: 'heUniform', initialize: heUniform(50), variance: 2 / 50 },
    { name: 'lecunUniform', initialize: lecunUniform(50), variance: 1 / 50 },
    { name: 'pytorchUniform', initialize: pytorchUniform(50), variance: 1 / 150 },
  ])('$name has mean 0 and variance $variance', ({ initialize, variance }) => {
    const values = new Float32Array(20_000);
    initialize(values, createRandom(1));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const square = values.reduce((sum, value) => sum + value * value, 0) / values.length;
    expect(Math.abs(mean)).toBeLessThan(4 * Math.sqrt(variance / values.length));
    expect(square / variance).toBeGreaterThan(0.97);
    expect(square / variance).toBeLessThan(1.03);
    // uniform: nothing beyond the bound
    expect(Math.max(...values.map(Math.abs))).toBeLessThanOrEqual(Math.fround(Math.sqrt(3 * variance)));
  });

  it('constant fills with one value', () => {
    const values = new Float32Array(3);
    constant(0.5)(values, createRandom(1));
    expect([...values]).toEqual([0.5, 0.5, 0.5]);
  });
});
