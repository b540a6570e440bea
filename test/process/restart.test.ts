/**
 * A controller that is killed and started again by the same command (`--state`), and connections that are cut: the workers' lives go
 * on, with the replicas, iteration numbers and leases that they had.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { controller, joinRun, type RunEvent } from 'preduce/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEventLog } from '../support/event-log.js';
import { recorded, recordedEvents } from '../support/recorded-events.js';
import { someOf } from '../support/thorough.js';
import { type CliProcess, type CliResult, openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

const SAMPLES = 600;
const EPOCHS = 3;
const WORKERS = 3;
const FLAGS = [
  '--workload',
  'mnist-mlp',
  '--data',
  'digits',
  '--batch-size',
  '10',
  '--workers',
  String(WORKERS),
  '--epochs',
  String(EPOCHS),
  '--port',
  '0',
];

type EventOf<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>;

let place: Workplace;

beforeAll(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: SAMPLES, test: 50 });
});

afterAll(() => place.close());

/** A run of its own, in the directories `NAME` and `NAME-state`. */
interface Kept {
  readonly out: string;
  readonly workers: readonly CliProcess[];
  /** Starts the controller: the same command each time. */
  start(): Promise<{ readonly server: CliProcess; readonly url: string }>;
  addWorkers(url: string): void;
  /** Of all workers. */
  workersEnd(): Promise<readonly CliResult[]>;
}

function keep(name: string, flags: readonly string[] = []): Kept {
  const workers: CliProcess[] = [];
  return {
    out: place.path(name),
    workers,
    async start() {
      const server = place.start(['controller', ...FLAGS, '--state', `${name}-state`, '--out', name, ...flags]);
      const [, url = ''] = await server.said(/listening at (ws:\S+),/);
      return { server, url };
    },
    addWorkers(url) {
      for (let i = 0; i < WORKERS; i += 1) workers.push(place.start(['worker', '--controller', url]));
    },
    workersEnd: () => Promise.all(workers.map((worker) => worker.ended)),
  };
}

function of<T extends RunEvent['type']>(events: readonly RunEvent[], type: T): readonly EventOf<T>[] {
  return events.filter((event): event is EventOf<T> => event.type === type);
}

async function kill({ process: child, ended }: CliProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<CliResult> {
  child.kill(signal);
  return ended;
}

/** Workers with their incarnations. */
function livesOf(events: readonly { readonly worker: number; readonly incarnation: number }[]): readonly string[] {
  return events.map(({ worker, incarnation }) => `${worker} (${incarnation})`).toSorted();
}

/** Every life is the one that joined, and the data were processed as if nothing had happened. */
function expectSameLives(events: readonly RunEvent[], restarts: number): void {
  const joined = livesOf(of(events, 'workerJoined'));
  expect(joined).toEqual(['0 (1)', '1 (1)', '2 (1)']);
  expect(of(events, 'workerDead')).toEqual([]);
  const restarted = events.filter(({ type }) => type === 'restarted') as readonly EventOf<'restarted'>[];
  expect(restarted.map(({ term }) => term)).toEqual(Array.from({ length: restarts }, (_, i) => i + 2));
  const last = events.findLastIndex(({ type }) => type === 'restarted');
  const back = of(events.slice(last), 'workerResumed');
  expect(livesOf(back)).toEqual(joined);
  for (const { worker, k, samples } of back) {
    const steps = of(events.slice(0, last), 'ready').filter((ready) => ready.worker === worker);
    expect(samples).toBeGreaterThanOrEqual(steps.reduce((sum, step) => sum + step.samples, 0));
    expect(k).toBeGreaterThanOrEqual(Math.max(0, ...steps.map((step) => step.k)) - 1);
  }
  const groups = of(events, 'groupFormed').map(({ group }) => group);
  expect(new Set(groups).size).toBe(groups.length);
  const leases = of(events, 'leased').map(({ lease }) => lease);
  expect(new Set(leases).size).toBe(leases.length);
  expect(of(events, 'runEnded')).toMatchObject([{ samples: EPOCHS * SAMPLES, holders: [0, 1, 2] }]);
}

async function expectModel(result: CliResult, { out }: Kept): Promise<void> {
  expect(result).toMatchObject({ code: 0 });
  expect(result.stdout).toMatch(/test accuracy (9|100)/);
  expect(await readFile(`${out}/report.html`, 'utf8')).toMatch(/<\/html>/);
}

describe('preduce controller --state, killed and started again', () => {
  it.each(someOf(1, ['partial-reduce', 'all-reduce', 'ad-psgd', 'eager-reduce', 'local-sgd']))(
    'goes on by %s with the same workers',
    async (strategy) => {
      const run = keep(`killed-${strategy}`, ['--strategy', strategy]);
      const first = await run.start();
      run.addWorkers(first.url);
      await recorded(run.out, ({ type }) => type === 'groupClosed', 6);
      await kill(first.server);
      const { runId } = await readJson(`killed-${strategy}-state/run.json`);
      const second = await run.start();
      expect(second.url).toBe(first.url);
      expect(await second.server.said(/going on with (run-\w+)/)).toMatchObject({ 1: runId });
      await expectModel(await second.server.ended, run);
      for (const worker of await run.workersEnd()) expect(worker).toMatchObject({ code: 0, stderr: '' });
      expectSameLives(await recordedEvents(run.out), 1);
    },
  );

  it('goes on after two more kills, the second before anybody is back', async () => {
    const run = keep('thrice');
    const first = await run.start();
    run.addWorkers(first.url);
    await recorded(run.out, ({ type }) => type === 'groupClosed', 6);
    await kill(first.server);
    await kill((await run.start()).server);
    const third = await run.start();
    await recorded(run.out, ({ type }) => type === 'workerResumed', WORKERS);
    await kill(third.server);
    await expectModel(await (await run.start()).server.ended, run);
    for (const worker of await run.workersEnd()) expect(worker).toMatchObject({ code: 0, stderr: '' });
    expectSameLives(await recordedEvents(run.out), 3);
  });

  it('waits for workers as before where it was killed before the start', async () => {
    const run = keep('early');
    await kill((await run.start()).server);
    const second = await run.start();
    const one = place.start(['worker', '--controller', second.url]);
    await second.server.said(/worker 0 joined/);
    await kill(second.server);
    const third = await run.start();
    const others = [1, 2].map(() => place.start(['worker', '--controller', third.url]));
    await expectModel(await third.server.ended, run);
    for (const worker of [one, ...others]) expect(await worker.ended).toMatchObject({ code: 0, stderr: '' });
    expect(of(await recordedEvents(run.out), 'runEnded')).toMatchObject([{ samples: EPOCHS * SAMPLES }]);
  });

  it('is left to the next start by a termination, ended by Ctrl-C, and over after that', async () => {
    const run = keep('left');
    const first = await run.start();
    run.addWorkers(first.url);
    await recorded(run.out, ({ type }) => type === 'groupClosed', 3);
    const left = await kill(first.server, 'SIGTERM');
    expect(left.code).toBe(143);
    expect(left.stderr).toMatch(/stopped; the run goes on: the same command, with --state left-state, takes it up/);
    const second = await run.start();
    await recorded(run.out, ({ type }) => type === 'workerResumed', WORKERS);
    expect(await kill(second.server, 'SIGINT')).toMatchObject({ code: 130 });
    for (const worker of await run.workersEnd()) expect(worker).toMatchObject({ code: 0, stderr: '' });
    const over = await place.run(['controller', ...FLAGS, '--state', 'left-state', '--out', 'left']);
    expect(over).toMatchObject({ code: 1, stdout: '' });
    expect(over.stderr).toMatch(
      /^preduce: --state: expected a run that goes on, got run [^\n]* \(interrupted\)[^\n]*\n$/,
    );
  });

  it('refuses a second controller, other options, other files, and strategies whose model would be lost', async () => {
    const run = keep('alone');
    const { server } = await run.start();
    const again = ['controller', ...FLAGS, '--out', 'alone', '--state'];
    const [second, other, servers] = await Promise.all([
      place.run([...again, 'alone-state']),
      place.run([...again, 'digits/train-images-idx3-ubyte']),
      place.run([...again, 'ps-state', '--strategy', 'ps-asp']),
    ]);
    expect(second.stderr).toMatch(
      /preduce: --state \S+alone-state: [^\n]* process \d+ has it and runs: stop that one first\n$/,
    );
    expect(other.stderr).toMatch(/preduce: --state: expected to keep the state of a run in [^\n]*\n$/);
    expect(servers.stderr).toMatch(
      /preduce: --state: expected a strategy without parameter servers, got ps-asp[^\n]*\n$/,
    );
    expect([second, other, servers].map(({ code, stdout }) => [code, stdout])).toEqual([
      [1, ''],
      [1, ''],
      [2, ''],
    ]);
    await kill(server);
    for (const [flags, said] of [
      [['--lr', '.3'], /preduce: --lr: expected none, as in the run that \S+alone-state holds, got 0.3: [^\n]*\n$/],
      [['--epochs', '7'], /preduce: --epochs: expected 3, as in the run [^\n]*, got 7: [^\n]*\n$/],
      [['--out', 'elsewhere'], /preduce: --out: expected \S+alone, as in the run [^\n]*, got \S+elsewhere: [^\n]*\n$/],
    ] as const) {
      const differs = await place.run([...again, 'alone-state', ...flags]);
      expect(differs).toMatchObject({ code: 2, stdout: '' });
      expect(differs.stderr).toMatch(said);
    }
    await writeFile(place.path('alone-state/run.json'), '{"format":1}');
    const damaged = await place.run([...again, 'alone-state']);
    expect(damaged.stderr).toMatch(/preduce: --state: expected the state of a run of format 1 [^\n]*damaged[^\n]*\n$/);
  });
});

async function readJson(name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(place.path(name), 'utf8')) as Record<string, unknown>;
}

interface Proxy {
  readonly port: number;
  /** Ends the connections that go through it; new ones are taken. */
  cut(): void;
  close(): Promise<void>;
}

/** A way to a port on this machine that can be cut. */
async function openProxy(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((inward) => {
    const outward = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

describe('a connection to the controller that is cut', () => {
  it('is made again, again and again, by the same life', async () => {
    const log = createEventLog<RunEvent>();
    const running = await controller({ core: { minWorkers: 2, groupSize: 2 }, onEvent: log.add });
    const proxy = await openProxy(running.address.port);
    const join = (port: number): ReturnType<typeof joinRun> =>
      joinRun({
        controller: `ws://127.0.0.1:${port}`,
        layout: [{ name: 'w', shape: [4] }],
        initial: new Float32Array(4),
      });
    try {
      const runs = await Promise.all([join(proxy.port), join(running.address.port)]);
      for (let cut = 0; cut < 3; cut += 1) {
        proxy.cut();
        for (let step = 0; step < 4; step += 1) {
          await Promise.all(
            runs.map((run) => {
              run.parameters[0] = (run.parameters[0] ?? 0) + 1;
              return run.reduce({ samples: 1 });
            }),
          );
        }
        await log.when(() => of(log.events, 'workerResumed').length > cut);
      }
      const [a, b] = await Promise.all(runs.map((run) => run.finish()));
      expect(a).toEqual(b);
      expect(a?.[0]).toBe(12);
      expect(of(log.events, 'workerJoined')).toHaveLength(2);
      expect(of(log.events, 'workerDead')).toEqual([]);
      const back = of(log.events, 'workerResumed');
      expect(back.length).toBeGreaterThanOrEqual(3);
      for (const { incarnation } of back) expect(incarnation).toBe(1);
    } finally {
      await proxy.close();
      await running.close();
    }
  });
});
