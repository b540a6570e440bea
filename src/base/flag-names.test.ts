import { expect, it } from 'vitest';
import { flagOf } from './flag-names.js';

it.each([
  ['lr', '--lr'],
  ['batchSize', '--batch-size'],
  ['averageOptimizer', '--average-optimizer'],
])('%s is typed %s', (name, flag) => {
  expect(flagOf(name)).toBe(flag);
});
