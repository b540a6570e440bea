import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparisonJson, type ComparisonResult } from '../launch/comparison-output.js';
import { readTuningRecord } from '../observe/tuning-record.js';
import { compareSimulated, type CompareSimulatedOptions } from './compare-simulated.js';

const simulation = { workers: 4, steps: 400, slow: ['straggler:1,4'], targetLoss: 0.05, learningRate: 0.2 } as const;
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'preduce-simulated-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function compared(out: string, options: Partial<CompareSimulatedOptions> = {}) {
  const titles: string[] = [];
  const chosen: number[] = [];
  const result = await compareSimulated({
    simulation,
    strategies: ['partial-reduce', 'all-reduce'],
    signal: new AbortController().signal,
    onRun: (title) => titles.push(title),
    onTuned: ({ learningRate }) => chosen.push(learningRate ?? -1),
    out: join(folder, out),
    ...options,
  });
  return { result, titles, chosen };
}

function timesOf({ entries }: ComparisonResult): readonly number[] {
  return entries.map(({ summary }) => summary.targetSeconds ?? Number.NaN);
}

describe('compareSimulated', () => {
  it('compares in virtual time, the same each time', async () => {
    const { result, titles } = await compared('one', { repeat: 2 });
    expect(titles).toEqual(
      [1, 2].flatMap((round) => [`partial-reduce:dynamic (repeat ${round} of 2)`, `all-reduce (repeat ${round} of 2)`]),
    );
    const [ours = Number.NaN, theirs = Number.NaN] = timesOf(result);
    expect(ours).toBeLessThan(theirs);
    expect(result).toMatchObject({ targetAccuracy: null, targetLoss: 0.05, isSimulated: true, referenceMs: 100 });
    expect(result.idealSpeedUp).toBeCloseTo(3.25, 9);
    const again = await compared('two', { repeat: 2 });
    expect(comparisonJson(again.result)).toEqual(comparisonJson(result));
    expect((await readdir(join(folder, 'one'))).toSorted()).toEqual(['compare.json', 'report.html']);
    const page = await readFile(result.reportFile, 'utf8');
    expect(page).toContain('Comparison of 2 ways to train, simulated');
    expect(page).toContain('Loss against virtual time');
    expect(page).toContain('id="timelines"');
  });

  it('tunes each strategy, and takes the rates back', async () => {
    const { learningRate: _, ...untuned } = simulation;
    const tune = [0.02, 0.2];
    const { result, chosen, titles } = await compared('tuned', { simulation: untuned, tune });
    expect(titles.slice(0, 2)).toEqual([
      'tuning partial-reduce:dynamic, lr 0.02',
      'tuning partial-reduce:dynamic, lr 0.2',
    ]);
    expect(chosen).toEqual([0.2, 0.2]);
    expect(result.entries.map(({ tuned }) => tuned?.trials.length)).toEqual([2, 2]);
    expect(comparisonJson(result)[0]).toMatchObject({
      label: 'partial-reduce:dynamic',
      tuned: { learningRate: 0.2, trials: [{ learningRate: 0.02 }, { learningRate: 0.2 }] },
    });
    const file = join(folder, 'tuned', 'tuning.json');
    expect(await readTuningRecord(file)).toMatchObject({ work: 'quadratic', seed: 1001, strategies: result.tuned });
    expect(await readFile(result.reportFile, 'utf8')).toContain('id="tuning"');

    const again = await compared('untuned', { simulation: untuned, tuned: [file] });
    expect(again.titles).toEqual(['partial-reduce:dynamic', 'all-reduce']);
    expect(timesOf(again.result)).toEqual(timesOf(result));
    // A fixed rate of the same value is the same comparison
    expect(timesOf((await compared('fixed')).result)).toEqual(timesOf(result));
  });

  it('ends runs at the target where that is asked for', async () => {
    const whole = await compared('whole');
    const cut = await compared('cut', { stopAtTarget: true });
    expect(timesOf(cut.result)).toEqual(timesOf(whole.result));
    for (const [index, { summary }] of cut.result.entries.entries()) {
      expect(summary.localSteps).toBeLessThan(whole.result.entries[index]?.summary.localSteps ?? 0);
    }
  });

  it('keeps what tuning found where it is interrupted, and nothing else', async () => {
    const { learningRate: _, ...untuned } = simulation;
    const interrupt = new AbortController();
    const running = compared('cut-short', {
      simulation: untuned,
      tune: [0.02, 0.2],
      signal: interrupt.signal,
      onTuned: () => interrupt.abort(),
    });
    await expect(running).rejects.toMatchObject({
      code: 'aborted',
      message: expect.stringMatching(/go on with --tuned$/),
    });
    expect(await readdir(join(folder, 'cut-short'))).toEqual(['tuning.json']);
    const { strategies } = await readTuningRecord(join(folder, 'cut-short', 'tuning.json'));
    expect(strategies.map(({ label, learningRate }) => [label, learningRate])).toEqual([
      ['partial-reduce:dynamic', 0.2],
    ]);
  });

  it.each<[string, Partial<CompareSimulatedOptions>, RegExp]>([
    ['an end that is not there', { stopAtTarget: true, simulation: { workers: 4 } }, /^--stop-at-target: .* got none$/],
    ['no repeat', { repeat: 0 }, /^--repeat: .* got 0$/],
    ['too large groups', { simulation: { workers: 4, groupSize: 5 } }, /^--group-size: /],
    ['a strategy that nobody knows', { strategies: ['ps-aps'] }, /unknown strategy "ps-aps"/],
  ])('refuses %s, leaving nothing', async (_, options, message) => {
    await expect(compared('refused', options)).rejects.toThrow(message);
    expect(await readdir(folder)).not.toContain('refused');
  });
});
