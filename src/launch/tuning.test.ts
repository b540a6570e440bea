import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PreduceError } from '../base/errors.js';
import { createSummary, type RunSummary } from '../observe/summary.js';
import type { Trial, TuningRecord } from '../observe/tuning-record.js';
import { parseContenders } from './contenders.js';
import { chooseRate, isAtEdge, planTuning, tuneAll, type TuningPlan } from './tuning.js';

const contenders = parseContenders(['all-reduce', 'partial-reduce', 'ps-asp']);

function trialOf(learningRate: number, changes: Partial<Trial> = {}): Trial {
  const nothing = { targetSeconds: null, updatesToTarget: null, testAccuracy: null, testLoss: null, failure: null };
  return { learningRate, wallSeconds: 1, ...nothing, ...changes };
}

function summaryOf(changes: Partial<RunSummary>): RunSummary {
  const facts = { strategy: 'all-reduce', workers: 2, groupSize: 2, weights: null, seed: 1, targetAccuracy: 0.9 };
  return { ...createSummary({ ...facts, out: null }).result(), ...changes };
}

describe('chooseRate', () => {
  it.each<[string, readonly Trial[], number | null]>([
    [
      'the first at the target, whatever its accuracy',
      [
        trialOf(0.01, { targetSeconds: 9, testAccuracy: 0.99 }),
        trialOf(0.03, { targetSeconds: 4, testAccuracy: 0.91 }),
        trialOf(0.1, { targetSeconds: 5, testAccuracy: 0.92 }),
      ],
      0.03,
    ],
    [
      'one at the target before a better one that missed it',
      [trialOf(0.01, { testAccuracy: 0.95 }), trialOf(0.1, { targetSeconds: 50, testAccuracy: 0.9 })],
      0.1,
    ],
    [
      'the best accuracy where none reached it',
      [trialOf(0.01, { testAccuracy: 0.5 }), trialOf(0.03, { testAccuracy: 0.7 }), trialOf(0.1, { testAccuracy: 0.1 })],
      0.03,
    ],
    [
      'the least loss where there is no accuracy',
      [trialOf(0.01, { testLoss: 2 }), trialOf(0.03, { testLoss: 0.5 }), trialOf(0.1)],
      0.03,
    ],
    ['one that failed never', [trialOf(0.01, { failure: 'diverged' }), trialOf(0.03, { testAccuracy: 0.1 })], 0.03],
    ['none where all failed', [trialOf(0.01, { failure: 'diverged' })], null],
    ['the first of equals', [0.03, 0.01].map((rate) => trialOf(rate, { targetSeconds: 2, testAccuracy: 0.9 })), 0.03],
  ])('takes %s', (_, trials, expected) => {
    expect(chooseRate(trials)).toBe(expected);
  });

  it('knows the ends of the grid', () => {
    const trials = [trialOf(0.01), trialOf(0.03), trialOf(0.1)];
    const edgeOf = (learningRate: number | null): boolean => isAtEdge({ label: 'a', learningRate, trials });
    expect([0.01, 0.03, 0.1, null].map(edgeOf)).toEqual([true, false, true, false]);
  });
});

describe('tuneAll', () => {
  const plan: TuningPlan = { learningRates: [0.1, 0.2], work: 'mnist-mlp', seed: 1001, known: [] };

  it('tries every rate with every strategy, and keeps what is known after each run', async () => {
    const kept: TuningRecord[] = [];
    const chosen: string[] = [];
    const tuned = await tuneAll(contenders, plan, {
      async tryRate({ label }, rate) {
        return summaryOf({ testAccuracy: 0.9, targetSeconds: label === 'all-reduce' ? rate : 1 - rate });
      },
      async keep(record) {
        kept.push(record);
      },
      onTuned: ({ label, learningRate }) => chosen.push(`${label} ${learningRate}`),
    });
    expect(tuned.map(({ learningRate }) => learningRate)).toEqual([0.1, 0.2, 0.2]);
    expect(chosen).toEqual(['all-reduce 0.1', 'partial-reduce:dynamic 0.2', 'ps-asp 0.2']);
    expect(kept[0]).toMatchObject({
      format: 1,
      work: 'mnist-mlp',
      seed: 1001,
      strategies: [{ label: 'all-reduce', learningRate: null, trials: [{ learningRate: 0.1 }] }],
    });
    expect(kept.at(-1)?.strategies).toEqual(tuned);
    expect(tuned.map(({ trials }) => trials.length)).toEqual([2, 2, 2]);
  });

  it.each(['not-finite', 'worker-failed'] as const)('goes on where a rate diverges: %s', async (code) => {
    const diverging = async (_: unknown, rate: number): Promise<RunSummary> => {
      if (rate > 0.1) throw new PreduceError(code, 'the training has diverged');
      return summaryOf({ testAccuracy: 0.5 });
    };
    const [first] = await tuneAll(contenders.slice(0, 1), plan, { tryRate: diverging, keep: async () => undefined });
    expect(first).toMatchObject({
      learningRate: 0.1,
      trials: [{ failure: null }, { failure: expect.stringMatching(/diverged/) }],
    });
  });

  it('ends with an error that no rate explains', async () => {
    const keep = async (): Promise<void> => undefined;
    const broken = async (): Promise<never> => {
      throw new PreduceError('out-dir-unusable', 'the disk is full');
    };
    await expect(tuneAll(contenders, plan, { tryRate: broken, keep })).rejects.toThrow('the disk is full');
  });

  it('does not count a run that was interrupted, nor begin another', async () => {
    const tried: string[] = [];
    const tuned = await tuneAll(contenders, plan, {
      async tryRate({ label }, rate) {
        tried.push(`${label} ${rate}`);
        return tried.length < 4 ? summaryOf({ testAccuracy: 0.5 }) : null;
      },
      async keep() {},
    });
    expect(tried).toEqual([
      'all-reduce 0.1',
      'all-reduce 0.2',
      'partial-reduce:dynamic 0.1',
      'partial-reduce:dynamic 0.2',
    ]);
    expect(tuned.map(({ label, learningRate }) => [label, learningRate])).toEqual([
      ['all-reduce', 0.1],
      ['partial-reduce:dynamic', null],
    ]);
  });

  it('leaves alone what has its rate already', async () => {
    const known = [{ label: 'all-reduce', learningRate: 0.7, trials: [] }];
    const tried: string[] = [];
    const tuned = await tuneAll(
      contenders,
      { ...plan, known },
      {
        async tryRate({ label }) {
          tried.push(label);
          return summaryOf({ testAccuracy: 0.5 });
        },
        async keep() {},
      },
    );
    expect(tuned[0]).toBe(known[0]);
    expect(new Set(tried)).toEqual(new Set(['partial-reduce:dynamic', 'ps-asp']));
  });
});

describe('planTuning', () => {
  let folder = '';
  const run = { contenders, work: 'mnist-mlp', seed: 5, learningRate: undefined };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'preduce-tuning-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function fileOf(name: string, rates: Readonly<Record<string, number | null>>, work = 'mnist-mlp') {
    const strategies = Object.entries(rates).map(([label, learningRate]) => ({ label, learningRate, trials: [] }));
    await writeFile(join(folder, name), JSON.stringify({ format: 1, work, seed: 1001, strategies }));
    return join(folder, name);
  }

  it('is of no tuning at all where none is asked for', async () => {
    expect(await planTuning({}, run)).toBeNull();
  });

  it('takes a seed that is not measured', async () => {
    expect(await planTuning({ tune: [0.1, 0.2] }, run)).toMatchObject({ learningRates: [0.1, 0.2], seed: 1005 });
  });

  it('reads rates back, those of later files before those of earlier ones', async () => {
    const first = await fileOf('first.json', { 'all-reduce': 0.1, 'partial-reduce:dynamic': 0.2, 'ps-asp': null });
    const second = await fileOf('second.json', { 'all-reduce': 0.3, 'ps-asp': 0.4 });
    const plan = (await planTuning({ tuned: [first, second] }, run)) as TuningPlan;
    const tuned = await tuneAll(contenders, plan, {
      tryRate: () => Promise.reject(new Error('nothing is left to try')),
      keep: async () => undefined,
    });
    expect(tuned.map(({ learningRate }) => learningRate)).toEqual([0.3, 0.2, 0.4]);
  });

  it.each([
    ['one rate alone', { tune: [0.1] }, /^--tune: expected two or more different .* got lr=0\.1$/],
    ['a rate twice', { tune: [0.1, 0.1] }, /^--tune: .* got lr=0\.1,0\.1$/],
    ['a rate of 0', { tune: [0, 0.1] }, /^--tune: .* above 0/],
    [
      'a file that is not there',
      { tuned: ['nowhere.json'] },
      /^expected a tuning\.json of a comparison, got ".*ENOENT/,
    ],
  ])('refuses %s', async (_, options, message) => {
    await expect(planTuning(options, run)).rejects.toThrow(message);
  });

  it('refuses a rate beside tuning', async () => {
    const both = planTuning({ tune: [0.1, 0.2] }, { ...run, learningRate: 0.5 });
    await expect(both).rejects.toThrow(/^--lr: expected none beside --tune or --tuned, got 0\.5$/);
  });

  it('refuses files that lack a strategy, unless that is tuned', async () => {
    const file = await fileOf('lacking.json', { 'all-reduce': 0.1, 'ps-asp': null });
    await expect(planTuning({ tuned: [file] }, run)).rejects.toThrow(
      /^--tuned: .* got none of partial-reduce:dynamic, ps-asp: add --tune, or leave them out$/,
    );
    expect(await planTuning({ tuned: [file], tune: [0.1, 0.2] }, run)).toMatchObject({
      known: [{ learningRate: 0.1 }],
    });
  });

  it('refuses rates of other work, and files that are none', async () => {
    const other = await fileOf('other.json', { 'all-reduce': 0.1 }, 'mnist-cnn');
    await expect(planTuning({ tuned: [other] }, run)).rejects.toThrow(
      /expected rates for mnist-mlp, got .* mnist-cnn$/,
    );
    const broken = join(folder, 'broken.json');
    for (const text of [
      '{',
      '[]',
      '{"format":2}',
      '{"format":1,"work":"mnist-mlp","seed":1,"strategies":[{"label":"a","learningRate":-1,"trials":[]}]}',
    ]) {
      await writeFile(broken, text);
      await expect(planTuning({ tuned: [broken] }, run)).rejects.toMatchObject({ code: 'bad-data' });
    }
  });
});
