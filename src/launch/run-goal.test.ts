import { describe, expect, it } from 'vitest';
import { defaultCoreConfig } from '../core/config.js';
import { goalOf, type RunGoal, type RunMoment, shareDone, timeLeftMs } from './run-goal.js';

const NONE: RunGoal = { samples: null, localSteps: null, timeMs: null };
const START: RunMoment = { samples: 0, localSteps: 0, timeMs: 0 };
/** A quarter of 400 samples, half of 20 steps, a tenth of 100 s. */
const NOW: RunMoment = { samples: 100, localSteps: 10, timeMs: 10_000 };

describe('the goal of a run', () => {
  const ledger = { sampleCount: 200, batchSamples: 10, leaseBatches: 1, epochs: 2 };
  it.each([
    ['by epochs', { ledger }, null, { samples: 400 }],
    ['by steps', { ledger: { ...ledger, epochs: null }, maxLocalSteps: 20 }, null, { localSteps: 20 }],
    ['by time', {}, 100_000, { timeMs: 100_000 }],
    ['by all', { ledger, maxLocalSteps: 20 }, 100_000, { samples: 400, localSteps: 20, timeMs: 100_000 }],
    ['by nothing', {}, null, {}],
  ])('%s', (_name, core, durationMs, goal) => {
    expect(goalOf(defaultCoreConfig(core), durationMs)).toEqual({ ...NONE, ...goal });
  });
});

describe.each<[string, Partial<RunGoal>, RunMoment, RunMoment, number | null, number | null]>([
  ['samples', { samples: 400 }, START, NOW, 0.25, 30_000],
  ['steps', { localSteps: 20 }, START, NOW, 0.5, 10_000],
  ['time', { timeMs: 100_000 }, START, NOW, 0.1, 90_000],
  ['what comes first', { samples: 400, localSteps: 20, timeMs: 100_000 }, START, NOW, 0.5, 10_000],
  ['nothing', {}, START, NOW, null, null],
  ['samples at the start', { samples: 400 }, START, START, 0, null],
  ['more samples than there are', { samples: 90 }, START, NOW, 1, 0],
  ['samples since a checkpoint', { samples: 400 }, { samples: 50, localSteps: 5, timeMs: 5000 }, NOW, 0.25, 30_000],
  ['samples from a checkpoint on', { samples: 400 }, NOW, NOW, 0.25, null],
])('a run that ends by %s', (_name, goal, start, now, share, leftMs) => {
  it('has a share done and a time left', () => {
    expect(shareDone({ ...NONE, ...goal }, now)).toBe(share);
    expect(timeLeftMs({ ...NONE, ...goal }, start, now)).toBe(leftMs);
  });
});
