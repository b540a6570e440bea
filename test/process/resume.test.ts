/**
 * Runs that are cut short and go on from their newest checkpoint. Cuts come at counted steps, so that each is where the test
 * says; everything is the compiled program.
 */
import { spawn } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PreduceError, type RunEvent, type RunResult, train, type TrainOptions } from 'preduce';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/thorough.js';
import { openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

const DYING = fileURLToPath(new URL('./fixtures/train-and-die.mjs', import.meta.url));

const SAMPLES = 320;
const EPOCHS = 3;
/** Leases of 64 samples in 4 batches, 20 steps an epoch, 60 in all. */
const BATCH = 16;

let place: Workplace;
let data = '';
let runCount = 0;

beforeAll(async () => {
  place = await openWorkplace();
  data = place.path('data');
  await writeTinyDigits(data, { train: SAMPLES, test: 100 });
});

afterAll(() => place.close());

function optionsOf(options: TrainOptions): TrainOptions {
  return { dataDirectory: data, epochs: EPOCHS, batchSamples: BATCH, ...options };
}

function newDirectory(): string {
  runCount += 1;
  return place.path(`run-${runCount}`);
}

/** Interrupts the run after so many local steps. */
async function trainUntil(steps: number, options: TrainOptions): Promise<RunResult> {
  const interrupt = new AbortController();
  let taken = 0;
  return train({
    ...optionsOf(options),
    signal: interrupt.signal,
    onEvent(event) {
      if (event.type === 'ready') taken += 1;
      if (taken === steps) interrupt.abort();
    },
  });
}

/** Kills the run, all its processes, after so many local steps. */
async function killAfter(steps: number, options: TrainOptions): Promise<void> {
  const child = spawn(process.execPath, [DYING, JSON.stringify(optionsOf(options)), String(steps)], {
    stdio: 'ignore',
  });
  const signal = await new Promise((resolve) => child.once('close', (_, by) => resolve(by)));
  expect(signal).toBe('SIGKILL');
}

/** Final model, and replica and optimizer's state of worker 0 before the final average. */
async function endOf(directory: string): Promise<readonly Buffer[]> {
  const found = await readdir(join(directory, 'checkpoints'));
  const last =
    found
      .filter((name) => name.endsWith('-worker-0.safetensors'))
      .toSorted()
      .at(-1) ?? '';
  return Promise.all(
    [join(directory, 'model.safetensors'), join(directory, 'checkpoints', last)].map((p) => readFile(p)),
  );
}

async function eventsOf(directory: string): Promise<readonly RunEvent[]> {
  const text = await readFile(join(directory, 'events.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RunEvent);
}

/** Cuts off half of a part of the newest checkpoint that has a manifest. */
async function damageNewest(directory: string): Promise<void> {
  const checkpoints = join(directory, 'checkpoints');
  const names = (await readdir(checkpoints)).filter((name) => name.endsWith('.manifest'));
  const newest = join(checkpoints, (names.toSorted().at(-1) ?? '').replace('.manifest', '-worker-0.safetensors'));
  const bytes = await readFile(newest);
  await writeFile(newest, bytes.subarray(0, bytes.length / 2));
}

describe('one worker, cut and resumed, ends with the bits of the uncut run', () => {
  const settings: TrainOptions = { workers: 1, schedule: 'cosine', warmUp: 0.1, weightDecay: 0.01 };
  const adam: TrainOptions = { workers: 1, optimizer: 'adamw', strategy: 'all-reduce', workload: 'mnist-mlp' };
  const uncut = new Map<TrainOptions, readonly Buffer[]>();

  async function expectSameEnd(directory: string, options: TrainOptions): Promise<void> {
    const [model, part] = await endOf(directory);
    const [expectedModel, expectedPart] = uncut.get(options) ?? [];
    expect(expectedModel?.length).toBeGreaterThan(1e6);
    expect(model?.equals(expectedModel as Buffer)).toBe(true);
    expect(part?.equals(expectedPart as Buffer)).toBe(true);
  }

  beforeAll(async () => {
    for (const options of [settings, adam]) {
      const { directory } = await train({ ...optionsOf(options), out: newDirectory() });
      uncut.set(options, await endOf(directory));
    }
  });

  it.each(
    someOf<[string, number, TrainOptions]>(1, [
      ['within a lease', 6, settings],
      ['within the last epoch, with AdamW', 47, adam],
      ['at its first step', 1, settings],
      ['at the end of a lease', 12, settings],
      ['at the end of an epoch', 20, settings],
    ]),
  )('interrupted %s', async (_, steps, options) => {
    const out = newDirectory();
    const cut = await trainUntil(steps, { ...options, out });
    expect(cut).toMatchObject({ interrupted: true, summary: { localSteps: expect.closeTo(steps, -1) as number } });
    const { summary } = await train({ resume: out });
    expect(summary).toMatchObject({ localSteps: 60, samples: EPOCHS * SAMPLES, stepsPerWorker: [60] });
    await expectSameEnd(out, options);
  });

  it.each(
    someOf<[string, number, TrainOptions]>(1, [
      ['within a lease', 18, settings],
      ['within another epoch, with AdamW', 45, adam],
    ]),
  )('killed %s', async (_, steps, options) => {
    const out = newDirectory();
    await killAfter(steps, { ...options, out, checkpointEvery: { samples: 48 } });
    await train({ resume: out });
    await expectSameEnd(out, options);
    const events = await eventsOf(out);
    // Each step is in the record once but for those between a cut and its manifest; the clock goes on.
    const ks = events.flatMap((event) => (event.type === 'ready' ? [event.k] : []));
    expect(new Set(ks).size).toBe(60);
    expect(events.filter(({ type }) => type === 'resumed')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'runEnded')).toHaveLength(1);
    const times = events.flatMap((event) => (event.type === 'ready' ? [event.timeMs] : []));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('killed twice, with the newest checkpoint damaged', async () => {
    const out = newDirectory();
    await killAfter(22, { ...settings, out, checkpointEvery: { samples: 48 } });
    await killAfter(14, { resume: out });
    await damageNewest(out);
    const phases: string[] = [];
    await train({ resume: out, onPhase: (phase) => phases.push(phase) });
    expect(phases.some((phase) => phase.startsWith('passed over a damaged checkpoint: expected '))).toBe(true);
    await expectSameEnd(out, settings);
  });

  it('after its end, with more epochs', async () => {
    const out = newDirectory();
    const options: TrainOptions = { workers: 1, seed: 3 };
    const { directory } = await train({ ...optionsOf(options), out: newDirectory() });
    await train({ ...optionsOf(options), epochs: 1, out });
    await train({ resume: out, epochs: EPOCHS });
    const [expected, found] = [await endOf(directory), await endOf(out)];
    expect(found.map((bytes, i) => bytes.equals(expected[i] as Buffer))).toEqual([true, true]);
  });
});

describe('several workers, cut and resumed, process every sample once', () => {
  it.each(
    someOf<[string, TrainOptions, TrainOptions]>(1, [
      ['four, partial reduce', { workers: 4 }, {}],
      ['three, all-reduce, then two', { workers: 3, strategy: 'all-reduce' }, { workers: 2 }],
      ['four, partial reduce with averaged AdamW', { workers: 4, optimizer: 'adamw', averageOptimizer: true }, {}],
      ['two, all-reduce', { workers: 2, strategy: 'all-reduce' }, {}],
      ['four, then two', { workers: 4 }, { workers: 2 }],
      ['two, then three', { workers: 2 }, { workers: 3 }],
    ]),
  )('%s', async (_, options, changed) => {
    const out = newDirectory();
    await killAfter(31, { ...options, out, checkpointEvery: { samples: 96 } });
    const result = await train({ resume: out, ...changed });
    expect(result.summary).toMatchObject({ samples: EPOCHS * SAMPLES, localSteps: 60 });
    // Digits that differ in the height of a bar: learnt whatever the order.
    expect(result.summary.testAccuracy).toBeGreaterThan(0.95);
  });
});

describe('a run is not resumed', () => {
  let cut = '';

  beforeAll(async () => {
    cut = (await trainUntil(30, { workers: 1, out: newDirectory() })).directory;
  });

  it.each<[string, TrainOptions, string]>([
    ['with another seed', { seed: 2 }, '--seed: expected 1, as in the run that is resumed, got 2'],
    ['with another rate', { learningRate: 0.2 }, '--lr: expected 0.05, as'],
    ['with another batch size', { batchSamples: 8 }, '--batch-size: expected 16, as'],
    ['with another strategy', { strategy: 'all-reduce' }, '--strategy: expected partial-reduce, as'],
    ['elsewhere', { out: 'elsewhere' }, '--out: expected none beside --resume'],
    ['where it has taken its steps', { steps: 20 }, 'got one that has taken its 20 steps: raise --steps'],
    ['where it has processed its epochs', { epochs: 1 }, 'got one that has processed its 1 epochs: raise --epochs'],
  ])('%s', async (_, options, message) => {
    const before = await readdir(cut);
    await expect(train({ ...options, resume: cut })).rejects.toThrow(message);
    expect(await readdir(cut)).toEqual(before);
  });

  it('from a directory that is none, or has no checkpoint', async () => {
    await expect(train({ resume: place.path('nowhere') })).rejects.toThrow(PreduceError);
    await expect(train({ resume: data })).rejects.toMatchObject({ code: 'data-missing' });
  });

  it('and is as it was where it cannot start', async () => {
    const before = await readFile(join(cut, 'events.jsonl'));
    const stopped = new AbortController();
    stopped.abort();
    await expect(train({ resume: cut, signal: stopped.signal })).rejects.toMatchObject({ code: 'aborted' });
    expect((await readFile(join(cut, 'events.jsonl'))).equals(before)).toBe(true);
    expect(await readdir(cut)).toContain('model.safetensors');
  });
});

describe('the command', () => {
  it('says after an interrupt how to go on, and does', async () => {
    const args = ['--data', data, '--workers', '2', '--batch-size', '4', '--epochs', '40', '--out', 'cli'];
    const cli = place.start(['train', ...args]);
    await cli.said(/started with 2 workers/);
    cli.process.kill('SIGINT');
    const { code, stdout } = await cli.ended;
    expect(code).toBe(130);
    const resume = /preduce train (--resume .*)/.exec(stdout)?.[1] ?? '';
    const refused = await place.run(['train', ...resume.split(' '), '--seed', '9']);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^preduce: --seed: expected 1, .*\n$/) as string,
    });
    const resumed = await place.run(['train', ...resume.split(' '), '--steps', '60', '--json']);
    expect(resumed.stderr).toContain('going on from checkpoint');
    expect(JSON.parse(resumed.stdout)).toMatchObject({ workers: 2 });
  });
});
