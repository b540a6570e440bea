import { expect, it } from 'vitest';
import { uniformRho } from './uniform-rho.js';

it.each([
  ['partial-reduce', 4, 2, 2 / 3],
  ['partial-reduce', 8, 3, 5 / 7],
  ['partial-reduce', 8, 8, 0],
  ['partial-reduce', 1, 2, null],
  ['ad-psgd', 8, 2, null],
  ['ps-asp', 8, 2, null],
])('of %s with N = %d, P = %d is %s', (strategy, workers, groupSize, expected) => {
  expect(uniformRho({ strategy, workers, groupSize })).toBe(expected);
});
