/**
 * Ends of `preduce train` that nobody planned: Ctrl-C once and twice, SIGTERM, SIGKILL of the program and of each kind of
 * process that it started. None leaves a process behind.
 */
import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  childrenOf,
  type CliProcess,
  livingProcesses,
  openWorkplace,
  type Workplace,
  writeTinyDigits,
} from './cli-run.js';

const RUN = ['--data', 'digits', '--batch-size', '10', '--workers', '2', '--duration', '1h', '--out', 'run'];

let place: Workplace;

beforeEach(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: 400, test: 50 });
});

afterEach(() => place.close());

interface Family {
  readonly main: CliProcess;
  /** Process ids. */
  readonly workers: readonly number[];
  readonly evaluator: number;
}

/** A run that has started. */
async function startTraining(...flags: readonly string[]): Promise<Family> {
  const main = place.start(['train', ...RUN, ...flags]);
  await main.said(/started with 2 workers/);
  const children = childrenOf(main.pid);
  const evaluators = children.filter(({ command }) => command.includes('evaluator-process'));
  const workers = children.filter(({ command }) => command.includes(' worker '));
  expect([evaluators.length, workers.length]).toEqual([1, 2]);
  return { main, workers: workers.map(({ pid }) => pid), evaluator: evaluators[0]?.pid ?? -1 };
}

/** Waits until none of the family lives. */
async function expectGone({ main, workers, evaluator }: Family): Promise<void> {
  const family = new Set([main.pid, ...workers, evaluator]);
  const left = (): unknown => livingProcesses().filter(({ pid, parent }) => family.has(pid) || family.has(parent));
  await expect.poll(left, { timeout: 20_000 }).toEqual([]);
}

const saved = (): Promise<readonly string[]> => readdir(place.path('run'));

describe('preduce train', () => {
  it('drains, saves and says where on SIGINT', async () => {
    const family = await startTraining();
    family.main.process.kill('SIGINT');
    const { code, stdout, stderr } = await family.main.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/\ntrain: interrupted: draining and saving; once more stops at once\n/);
    expect(stdout).toMatch(/\(interrupted, drained and saved\)[^]*\n {2}model .*run\/model\.safetensors\n/);
    expect(await saved()).toEqual(expect.arrayContaining(['model.safetensors', 'summary.json', 'report.html']));
    await expectGone(family);
  });

  it('does so on SIGTERM, too, and prints its object with --json', async () => {
    const family = await startTraining('--json');
    family.main.process.kill('SIGTERM');
    const { code, stdout } = await family.main.ended;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ strategy: 'partial-reduce', out: place.path('run') });
    expect(await saved()).toContain('model.safetensors');
    await expectGone(family);
  });

  it('stops at once on the second SIGINT', async () => {
    const family = await startTraining();
    // The drain waits for this worker, so the second signal always comes before its end.
    process.kill(family.workers[0] as number, 'SIGSTOP');
    family.main.process.kill('SIGINT');
    await family.main.said(/interrupted: draining/);
    family.main.process.kill('SIGINT');
    const { code, stdout, stderr } = await family.main.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toMatch(/\ntrain: stopped at once: no model was saved\n$/);
    expect(await saved()).not.toContain('model.safetensors');
    await expectGone(family);
  });

  it('leaves nothing when it is interrupted before the start', async () => {
    const main = place.start(['train', ...RUN]);
    await main.said(/starting 2 workers/);
    main.process.kill('SIGINT');
    const { code, stdout, stderr } = await main.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toMatch(/\npreduce: interrupted before the run had started: nothing was trained\n$/);
    expect(await readdir(place.folder)).toEqual(['digits']);
  });

  it('leaves no process behind when it is killed', async () => {
    const family = await startTraining();
    family.main.process.kill('SIGKILL');
    expect(await family.main.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
    await expectGone(family);
  });

  it('goes on when one worker is killed', async () => {
    const family = await startTraining('--liveness', '1s');
    process.kill(family.workers[0] as number, 'SIGKILL');
    await family.main.said(/worker \d is dead .*; the others go on/);
    family.main.process.kill('SIGINT');
    const { code } = await family.main.ended;
    expect(code).toBe(130);
    expect(await saved()).toEqual(expect.arrayContaining(['model.safetensors', 'log.txt']));
    expect(await readFile(place.path('run/log.txt'), 'utf8')).toMatch(/^worker \d: ended: killed by SIGKILL\n$/);
  });

  it('fails in one line when all workers are killed', async () => {
    const family = await startTraining();
    for (const pid of family.workers) process.kill(pid, 'SIGKILL');
    const { code, stdout, stderr } = await family.main.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/\npreduce: [^\n]*no worker is left[^\n]*\n$/);
    await expectGone(family);
  });

  it('fails in one line when the evaluator hangs', async () => {
    const family = await startTraining('--liveness', '1s');
    process.kill(family.evaluator, 'SIGSTOP');
    family.main.process.kill('SIGINT');
    const { code, stdout, stderr } = await family.main.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /\ntrain: evaluation \d+ failed: no sign of life from the evaluator for \d+ ms\npreduce: .*\n$/,
    );
    await expectGone(family);
  });

  it('starts an evaluator that was killed again, and saves the model', async () => {
    const family = await startTraining('--evaluate-every', '100');
    const evaluations = async (): Promise<number> =>
      (await readFile(place.path('run/metrics.jsonl'), 'utf8')).split('\n').length;
    process.kill(family.evaluator, 'SIGKILL');
    await expect.poll(() => livingProcesses().some(({ pid }) => pid === family.evaluator)).toBe(false);
    const before = await evaluations();
    await expect.poll(evaluations, { timeout: 20_000 }).toBeGreaterThan(before);
    family.main.process.kill('SIGINT');
    const { code } = await family.main.ended;
    expect(code).toBe(130);
    expect(await saved()).toContain('model.safetensors');
  });
});

describe('preduce compare', () => {
  it('gives its directory back when it is interrupted before the first run', async () => {
    const main = place.start(['compare', ...RUN, '--slow', 'straggler:1,2']);
    await main.said(/measuring the reference iteration/);
    main.process.kill('SIGINT');
    const { code, stdout, stderr } = await main.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toMatch(/\npreduce: interrupted while calibrating\n$/);
    expect(await readdir(place.folder)).toEqual(['digits']);
  });

  it('shows the runs that it has when it is interrupted in a later one', async () => {
    const short = RUN.map((part) => (part === '1h' ? '2s' : part));
    const main = place.start(['compare', ...short, '--strategies', 'all-reduce,partial-reduce', '--json']);
    await main.said(/partial-reduce:dynamic: starting/);
    main.process.kill('SIGINT');
    const { code, stdout } = await main.ended;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject([{ strategy: 'all-reduce' }]);
    expect(await saved()).toEqual(['all-reduce', 'compare.json', 'report.html']);
  });
});
