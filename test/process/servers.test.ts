/**
 * Parameter servers as processes: every strategy that has them trains, the death of a worker costs nothing but its work, that of a
 * server ends the run in one clear line, and what cannot be is refused before anything starts.
 */
import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/thorough.js';
import {
  childrenOf,
  type CliProcess,
  livingProcesses,
  openWorkplace,
  type Workplace,
  writeTinyDigits,
} from './cli-run.js';

const RUN = ['--data', 'digits', '--batch-size', '10', '--quiet'];

let place: Workplace;

beforeAll(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: 400, test: 50 });
});

afterAll(() => place.close());

interface Event {
  readonly type: string;
  readonly [field: string]: unknown;
}

async function eventsOf(out: string): Promise<readonly Event[]> {
  const text = await readFile(place.path(`${out}/events.jsonl`), 'utf8');
  const lines = text.slice(0, text.lastIndexOf('\n')).split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Event);
}

/** Waits until a run has formed so many groups. */
async function untilGroups(out: string, count: number): Promise<void> {
  const formed = async (): Promise<number> => {
    if (!(await readdir(place.folder)).includes(out)) return 0;
    return (await eventsOf(out)).filter(({ type }) => type === 'groupFormed').length;
  };
  await expect.poll(formed, { timeout: 60_000 }).toBeGreaterThan(count);
}

/** Process id of one that the run has started. */
function childOf(run: CliProcess, command: RegExp): number {
  const child = childrenOf(run.pid).find((entry) => command.test(entry.command));
  expect(child, `a process ${command}`).toBeDefined();
  return child?.pid ?? -1;
}

async function expectGone(pids: readonly number[]): Promise<void> {
  await expect.poll(() => livingProcesses().filter(({ pid }) => pids.includes(pid)), { timeout: 20_000 }).toEqual([]);
}

describe('preduce train', () => {
  it.each(
    someOf<[string, string[]]>(1, [
      ['ps-asp', ['--servers', '3']],
      ['ps-backup', ['--backups', '1']],
      ['ps-bsp', []],
      ['ps-ssp', ['--staleness', '1', '--servers', '2']],
      ['ps-hete', ['--optimizer', 'adamw', '--lr', '0.003']],
    ]),
  )('learns by %s %j', async (strategy, flags) => {
    const out = `run-${strategy}`;
    const length = ['--steps', '150', '--workers', '3'];
    const args = ['train', ...RUN, ...length, '--strategy', strategy, ...flags, '--json', '--out', out];
    const { code, stdout, stderr } = await place.run(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const summary = JSON.parse(stdout) as { testAccuracy: number; faults: object; rho: number | null };
    expect(summary).toMatchObject({ strategy, faults: {}, rho: null });
    expect(summary.testAccuracy).toBeGreaterThan(0.9);
    expect(await readdir(place.path(out))).toEqual(expect.arrayContaining(['model.safetensors', 'report.html']));
  });

  it.each(someOf(1, ['ps-bsp', 'ps-asp', 'ps-backup']))('goes on by %s when a worker is killed', async (strategy) => {
    const out = `killed-worker-${strategy}`;
    const flags = ['--workers', '3', '--servers', '2', '--liveness', '2s', '--epochs', '8', '--strategy', strategy];
    const run = place.start(['train', ...RUN, ...flags, '--json', '--out', out]);
    await untilGroups(out, 20);
    process.kill(childOf(run, / worker .*--worker 1/), 'SIGKILL');
    const { code, stdout } = await run.ended;
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as { testAccuracy: number }).testAccuracy).toBeGreaterThan(0.9);
    const events = await eventsOf(out);
    expect(events.filter(({ type }) => type === 'workerDead')).toMatchObject([{ worker: 1 }]);
    expect(events.findLast(({ type }) => type === 'runEnded')).toMatchObject({ holders: [0, 2] });
  });

  it.each(['SIGKILL', 'SIGSTOP'] as const)('ends with one clear line when a server gets %s', async (signal) => {
    const out = `lost-server-${signal}`;
    const flags = ['--workers', '2', '--servers', '2', '--liveness', '2s', '--duration', '1h', '--strategy', 'ps-asp'];
    const run = place.start(['train', ...RUN, ...flags, '--out', out]);
    await untilGroups(out, 20);
    const family = childrenOf(run.pid).map(({ pid }) => pid);
    const server = childOf(run, / server /);
    process.kill(server, signal);
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^preduce: [^\n]*server [01] is gone: [^\n]+\n$/);
    await expectGone(family);
  });

  it.each([
    ['as many backups as workers', ['ps-backup', '--backups', '2'], '--backups: expected fewer than the 2 workers'],
    ['backups below 0', ['ps-backup', '--backups', '-1'], '--backups: expected a whole number of at least 0, got -1'],
    [
      'staleness below 0',
      ['ps-ssp', '--staleness', '-1'],
      '--staleness: expected a whole number of at least 0, got -1',
    ],
    ['no server', ['ps-asp', '--servers', '0'], '--servers: expected a whole number of at least 1, got 0'],
    ['more servers than numbers', ['ps-asp', '--servers', '4095'], 'servers: expected at most 4094 beside 2 workers'],
  ])('refuses %s', async (_, flags, says) => {
    const { code, stderr } = await place.run(['train', ...RUN, '--workers', '2', '--strategy', ...flags]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^preduce: [^\n]+\n$/);
    expect(stderr).toContain(says);
  });
});

describe('preduce server', () => {
  it('serves a run of preduce controller', async () => {
    const flags = [
      '--workload',
      'mnist-mlp',
      '--data',
      'digits',
      '--batch-size',
      '10',
      '--workers',
      '1',
      '--steps',
      '60',
    ];
    const controller = place.start(['controller', '--port', '0', '--strategy', 'ps-bsp', ...flags, '--out', 'served']);
    const [, url = ''] = await controller.said(/(ws:\/\/\S+:\d+)/);
    const others = [['server'], ['worker']].map((args) => place.start([...args, '--controller', url]));
    for (const { ended } of [controller, ...others]) expect(await ended).toMatchObject({ code: 0 });
  });

  it('is refused by a run whose strategy has no servers', async () => {
    const controller = place.start(['controller', '--port', '0', '--workers', '1', '--steps', '1']);
    const [, url = ''] = await controller.said(/(ws:\/\/\S+:\d+)/);
    const { code, stderr } = await place.run(['server', '--controller', url]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "preduce: this run's strategy has no servers\n" });
  });
});
