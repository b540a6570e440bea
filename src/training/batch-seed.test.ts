import { expect, it } from 'vitest';
import { batchSeed } from './batch-seed.js';

const STEP = { seed: 1, worker: 2, k: 3 };

it('is the same for the same step', () => {
  expect(batchSeed(STEP)).toBe(batchSeed({ ...STEP }));
  expect(Number.isSafeInteger(batchSeed(STEP))).toBe(true);
});

it('differs between runs, workers and steps', () => {
  const steps = [0, 1, 2].flatMap((seed) =>
    [0, 1, 2, 3].flatMap((worker) => Array.from({ length: 50 }, (_, k) => ({ seed, worker, k }))),
  );
  expect(new Set(steps.map(batchSeed)).size).toBe(steps.length);
});
