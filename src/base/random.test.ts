import { describe, expect, it } from 'vitest';
import { createRandom, shuffle } from './random.js';

const DRAWS = 20_000;

describe('createRandom', () => {
  it('gives the same draws for the same seed, and others for another', () => {
    const draw = (seed: number): number[] => {
      const random = createRandom(seed);
      return Array.from({ length: 5 }, () => random.next());
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it('draws evenly from [0, 1)', () => {
    const random = createRandom(1);
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < DRAWS; i += 1) {
      const value = random.next();
      expect(value >= 0 && value < 1).toBe(true);
      counts[Math.floor(10 * value)] = (counts[Math.floor(10 * value)] ?? 0) + 1;
    }
    // Five standard deviations.
    for (const count of counts) expect(Math.abs(count - DRAWS / 10)).toBeLessThan(5 * Math.sqrt(DRAWS * 0.09));
  });

  it('draws every whole number below a bound', () => {
    const random = createRandom(2);
    const counts = [0, 0, 0];
    for (let i = 0; i < 3000; i += 1) {
      const value = random.below(3);
      counts[value] = (counts[value] ?? 0) + 1;
    }
    // Five standard deviations.
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(5 * Math.sqrt(3000 * (2 / 9)));
    expect(counts.length).toBe(3);
  });

  it('draws normal values of mean 0 and variance 1', () => {
    const random = createRandom(3);
    const values = Array.from({ length: DRAWS }, () => random.normal());
    const mean = values.reduce((a, b) => a + b, 0) / DRAWS;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / DRAWS;
    expect(Math.abs(mean)).toBeLessThan(5 / Math.sqrt(DRAWS));
    expect(Math.abs(variance - 1)).toBeLessThan(5 * Math.sqrt(2 / DRAWS));
  });

  it('forks generators that differ from it and from each other', () => {
    const parent = createRandom(4);
    const draws = [parent.fork(1), parent.fork(2), parent].map((random) => random.next());
    expect(new Set(draws).size).toBe(3);
    expect(createRandom(4).fork(1).next()).toBe(draws[0]);
  });
});

it('shuffles evenly: every value comes to every place', () => {
  const random = createRandom(5);
  const counts = Array.from({ length: 4 }, () => [0, 0, 0, 0]);
  for (let i = 0; i < 4000; i += 1) {
    shuffle([0, 1, 2, 3], random).forEach((value, place) => {
      (counts[place] as number[])[value] = ((counts[place] as number[])[value] ?? 0) + 1;
    });
  }
  for (const row of counts) for (const count of row) expect(Math.abs(count - 1000)).toBeLessThan(5 * Math.sqrt(750));
});
