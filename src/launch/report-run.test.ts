import { describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import { createRunStructure } from '../observe/run-structure.js';
import { createSummary } from '../observe/summary.js';
import { reportRun, reportSettings } from './report-run.js';
import { resolveRun, type RunOptions } from './run-options.js';
import type { RunResult } from './run-output.js';

/** The settings by name, of a run over 60,000 samples. */
function settingsOf(options: RunOptions): Record<string, string | number> {
  const facts = reportSettings(resolveRun(options, 60_000));
  return Object.fromEntries(facts.map(({ name, value }) => [name, value]));
}

describe('reportSettings', () => {
  it('tells what was asked for', () => {
    const settings = settingsOf({
      workload: 'mnist-mlp',
      batchSamples: 32,
      learningRate: 0.25,
      momentum: 0.5,
      slow: ['straggler:3,4', 'lognormal:0.1'],
      threads: 2,
    });
    expect(settings).toMatchObject({
      Workload: 'mnist-mlp',
      'Training samples': '60,000',
      Batch: '32 samples per worker and step',
      Optimizer: 'SGD, learning rate 0.25, momentum 0.5',
      'Emulated devices': 'straggler:3,4, lognormal:0.1',
      'Engine threads': '2 per worker',
    });
    expect(settings).not.toHaveProperty('Data');
  });

  it('names the data where they are the user’s', () => {
    expect(settingsOf({ dataDirectory: 'mine' })).toMatchObject({ Data: 'mine', 'Emulated devices': 'none' });
  });

  it.each<[RunOptions, string]>([
    [{ epochs: 1 }, '1 epoch'],
    [{ epochs: 2, durationMs: 150_000 }, '2 epochs, or 2 min 30 s'],
    [{ epochs: 2, steps: 1500 }, '2 epochs, or 1,500 local steps of all workers'],
    [{ epochs: 2, targetAccuracy: 0.9 }, '2 epochs, or when the target is reached'],
    [{ epochs: 2, targetAccuracy: 0.9, stopAtTarget: false }, '2 epochs'],
  ])('tells what ends a run with %j', (options, length) => {
    expect(settingsOf(options)['Length']).toBe(length);
  });
});

describe('reportRun', () => {
  it('hands on the results, and no path of this machine', () => {
    const summary = createSummary({
      strategy: 'all-reduce',
      workers: 2,
      groupSize: 2,
      weights: null,
      seed: 1,
      targetAccuracy: null,
      out: null,
    });
    const result: RunResult = {
      label: 'mine',
      summary: summary.result(),
      evaluations: [{ timeMs: 1, samples: 2, accuracy: 0.5, loss: null }],
      workerTimes: [{ worker: workerId(0), steps: 1, samples: 2, computeMs: 3, waitMs: 4, reduceMs: 5 }],
      overrunShare: 0.25,
      structure: createRunStructure().result(),
      settings: [],
      directory: '/secret',
      modelFile: '/secret/model',
      reportFile: '/secret/report',
      interrupted: false,
      checkpoint: null,
    };
    const { label, evaluations, workerTimes, overrunShare, structure } = result;
    expect(reportRun(result)).toEqual({
      label,
      summary: result.summary,
      evaluations,
      workerTimes,
      overrunShare,
      structure,
    });
  });
});
