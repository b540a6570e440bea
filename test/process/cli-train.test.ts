/**
 * `preduce train`, `compare` and `controller` with `worker` from beginning to end, as a user types them, on data that is
 * learnt within a few steps: what lies in the run directory, what stands on stdout, who may join.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSafetensors } from '../../src/training/safetensors.js';
import { type CliProcess, openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

const RUN = ['--data', 'digits', '--batch-size', '10', '--workers', '2', '--steps', '60'];
const RECORD = ['config.json', 'events.jsonl', 'metrics.jsonl', 'model.safetensors', 'report.html', 'summary.json'];

let place: Workplace;

beforeAll(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: 400, test: 50 });
});

afterAll(() => place.close());

/** The fields of `--json` (docs: the summary), of a run of 60 steps by two workers. */
function summaryOf(strategy: string, weights: string | null): Record<string, unknown> {
  const number = expect.any(Number) as unknown;
  return {
    strategy,
    workers: 2,
    groupSize: 2,
    weights,
    seed: 1,
    wallSeconds: number,
    updates: number,
    localSteps: 60,
    samples: 600,
    testAccuracy: number,
    testLoss: number,
    idleShare: number,
    stepsPerWorker: [number, number],
    groups: number,
    rho: number,
    maxGroupsToConnect: number,
    bytesSent: number,
    faults: {},
  };
}

async function readJson(...parts: string[]): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(...parts), 'utf8')) as Record<string, unknown>;
}

async function eventsOf(directory: string): Promise<readonly { readonly type: string }[]> {
  const text = await readFile(join(directory, 'events.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string });
}

describe('preduce train', () => {
  it('--json --quiet prints one object, and leaves a whole run directory', async () => {
    const { code, stdout, stderr } = await place.run(['train', ...RUN, '--out', 'run', '--json', '--quiet']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^[^\n]+\n$/);
    const summary = JSON.parse(stdout) as Record<string, unknown>;
    const out = place.path('run');
    expect(summary).toMatchObject({ ...summaryOf('partial-reduce', 'dynamic'), targetSeconds: null, out });
    expect(summary['testAccuracy']).toBeGreaterThan(0.9);

    expect((await readdir(out)).toSorted()).toEqual(['checkpoints', ...RECORD]);
    expect(await readJson(out, 'summary.json')).toEqual(summary);
    expect(await readJson(out, 'config.json')).toMatchObject({
      core: { strategy: 'partial-reduce', minWorkers: 2, groupSize: 2 },
      training: { workload: 'mnist-mlp', batchSamples: 10, seed: 1 },
    });
    const events = (await eventsOf(out)).map((event) => event.type);
    expect(events).toEqual(expect.arrayContaining(['workerJoined', 'started', 'ready', 'groupFormed', 'runEnded']));
    expect(events.filter((type) => type === 'ready')).toHaveLength(60);
    expect(await readFile(join(out, 'metrics.jsonl'), 'utf8')).toMatch(/"testAccuracy":/);
    expect(await readFile(join(out, 'report.html'), 'utf8')).toMatch(/^<!doctype html>[^]*<\/html>\s*$/i);
    const { tensors, metadata } = await readSafetensors(join(out, 'model.safetensors'));
    expect(metadata).toMatchObject({ workload: 'mnist-mlp', testAccuracy: String(summary['testAccuracy']) });
    for (const { values } of tensors) expect(values.every(Number.isFinite)).toBe(true);
  });

  it('tells its progress in lines without control characters, and where model and report lie', async () => {
    const { code, stdout, stderr } = await place.run(['train', ...RUN, '--target-accuracy', '.5']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^train: starting 2 workers\n(train: [^\n]+\n)+$/);
    expect(stderr).toMatch(/^[\n\x20-\x7e]*$/);
    expect(stdout).toMatch(/target 0\.5 reached after/);
    const [, directory = ''] =
      /\n {2}model {3}(.*)\/model\.safetensors\n {2}report {2}\1\/report\.html\n$/.exec(stdout) ?? [];
    expect(directory).toContain(place.path('runs'));
    expect((await readdir(directory)).toSorted()).toEqual(['checkpoints', ...RECORD]);
  });
});

describe('preduce compare', () => {
  it('--repeat 2 --json prints medians with the runs behind them', async () => {
    const strategies = ['--strategies', 'partial-reduce,all-reduce', '--repeat', '2'];
    const { code, stdout } = await place.run(['compare', ...RUN, ...strategies, '--out', 'both', '--json', '--quiet']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[^\n]+\n$/);
    const entries = JSON.parse(stdout) as { testAccuracy: number; runs: { testAccuracy: number; seed: number }[] }[];
    expect(entries).toHaveLength(2);
    for (const [index, [strategy, weights]] of [
      ['partial-reduce', 'dynamic'],
      ['all-reduce', null],
    ].entries()) {
      const entry = entries[index];
      expect(entry).toMatchObject(summaryOf(strategy as string, weights as string | null));
      expect(entry?.runs.map((run) => run.seed)).toEqual([1, 2]);
      const accuracies = entry?.runs.map((run) => run.testAccuracy) ?? [];
      expect(entry?.testAccuracy).toBeCloseTo((Math.min(...accuracies) + Math.max(...accuracies)) / 2, 10);
    }
    expect((await readdir(place.path('both'))).toSorted()).toEqual([
      'all-reduce-1',
      'all-reduce-2',
      'compare.json',
      'partial-reduce-dynamic-1',
      'partial-reduce-dynamic-2',
      'report.html',
    ]);
  });
});

describe('preduce controller and preduce worker', () => {
  const controllerFlags = ['--workload', 'mnist-mlp', ...RUN, '--port', '0'];

  async function serve(args: readonly string[]): Promise<{ server: CliProcess; url: string }> {
    const server = place.start(['controller', ...args]);
    const [, url = ''] = await server.said(/listening at (ws:\S+),/);
    return { server, url };
  }

  it('train together with a token, and let nobody in without', async () => {
    await writeFile(place.path('token'), 'a long secret\n');
    await writeFile(place.path('other'), 'another secret');
    const { server, url } = await serve([...controllerFlags, '--token-file', 'token', '--out', 'served', '--json']);
    const joining = ['worker', '--controller', url];
    const [wrong, none] = await Promise.all([place.run([...joining, '--token-file', 'other']), place.run(joining)]);
    for (const refused of [wrong, none]) {
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/^preduce: the controller expects a token and got [^\n]*--token-file\n$/);
    }
    const workers = [1, 2].map(() => place.run([...joining, '--token-file', 'token']));
    for (const worker of await Promise.all(workers)) expect(worker).toMatchObject({ code: 0, stdout: '', stderr: '' });
    const { code, stdout, stderr } = await server.ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ ...summaryOf('partial-reduce', 'dynamic'), faults: { refused: 2 } });
    expect((await readdir(place.path('served'))).toSorted()).toEqual(RECORD);
    const everything = [
      stdout,
      stderr,
      ...(await Promise.all(RECORD.map((name) => readFile(place.path(`served/${name}`))))),
    ];
    for (const text of everything) expect(String(text)).not.toMatch(/secret/);
  });

  it('drain on Ctrl-C at the controller, workers ending well', async () => {
    const flags = [
      '--workload',
      'mnist-mlp',
      '--data',
      'digits',
      '--batch-size',
      '10',
      '--workers',
      '2',
      '--port',
      '0',
    ];
    const { server, url } = await serve([...flags, '--duration', '1h', '--out', 'drained']);
    const workers = [1, 2].map(() => place.run(['worker', '--controller', url]));
    await server.said(/started with 2 workers/);
    server.process.kill('SIGINT');
    for (const worker of await Promise.all(workers)) expect(worker).toMatchObject({ code: 0, stderr: '' });
    const { code, stdout } = await server.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/interrupted, drained and saved[^]*drained\/model\.safetensors/);
    expect((await readdir(place.path('drained'))).toSorted()).toEqual(RECORD);
  });

  it('end at Ctrl-C before anybody came, leaving nothing', async () => {
    const { server } = await serve([...controllerFlags, '--out', 'unused']);
    server.process.kill('SIGINT');
    const { code, stdout, stderr } = await server.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toMatch(/\npreduce: interrupted before the run had started: nothing was trained\n$/);
    expect(await readdir(place.folder)).not.toContain('unused');
  });

  it('say what is wrong when the run is for hand-written workers, or the controller dies', async () => {
    const { server, url } = await serve(['--workers', '1', '--port', '0']);
    const worker = await place.run(['worker', '--controller', url]);
    expect(worker.code).toBe(2);
    expect(worker.stderr).toMatch(/^preduce: [^\n]*joinRun\n$/);
    server.process.kill('SIGKILL');

    const training = await serve([...controllerFlags, '--out', 'lost']);
    const orphan = place.start(['worker', '--controller', training.url, '--controller-timeout', '200ms']);
    await training.server.said(/worker 0 joined/);
    training.server.process.kill('SIGKILL');
    const { code, stderr } = await orphan.ended;
    expect(code).toBe(1);
    const saved =
      /^preduce: expected the controller at ws:\S+ to come back, got nothing for [\d.]+ s [^\n]*; its replica is saved in (\S+)\n$/;
    expect(stderr).toMatch(saved);
    const { tensors } = await readSafetensors(saved.exec(stderr)?.[1] ?? '');
    expect(tensors.length).toBeGreaterThan(0);
  });
});
