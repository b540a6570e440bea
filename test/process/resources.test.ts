/**
 * Resources that run out under a run (Linux): file descriptors of the controller, of a worker, and the disk. Whoever is not concerned goes
 * on, everybody is told, and all is well when there is room again.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFleet } from './fleet.js';
import { type CliProcess, openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

const DATA = ['--workload', 'mnist-mlp', '--data', 'digits', '--batch-size', '10'];

let place: Workplace;

beforeAll(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: 600, test: 50 });
});

afterAll(() => place.close());

function runs(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

const canLimit = runs('prlimit', ['--version']);
const MOUNT_POINT = '/mnt';
/** A file system of its own that nobody else sees, of so many bytes. */
function onSmallDisk(bytes: number): readonly string[] {
  const script = `mount -t tmpfs -o size=${bytes} tmpfs ${MOUNT_POINT} && exec "$@"`;
  return ['--user', '--map-root-user', '--mount', 'sh', '-c', script, 'sh'];
}
const canMount = runs('unshare', [...onSmallDisk(1000), 'true']);

/** No further descriptor can be opened until `allow` is called. */
function forbidDescriptors({ pid }: CliProcess): { readonly allow: () => void } {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (open.has(free)) free += 1;
  const limit = (soft: number): void => {
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:1024`]);
  };
  limit(free);
  return { allow: () => limit(1024) };
}

/** A controller with two workers that have begun; `join` starts another. */
async function runWith(name: string): Promise<{ server: CliProcess; workers: CliProcess[]; join: () => CliProcess }> {
  const run = [
    '--workers',
    '2',
    '--group-size',
    '2',
    '--epochs',
    '30',
    '--liveness',
    '2',
    '--port',
    '0',
    '--out',
    name,
  ];
  const server = place.start(['controller', ...DATA, ...run]);
  const [, url = ''] = await server.said(/listening at (ws:\S+),/);
  const workers: CliProcess[] = [];
  const join = (): CliProcess => {
    const worker = place.start(['worker', '--controller', url]);
    workers.push(worker);
    return worker;
  };
  join();
  join();
  await server.said(/started with 2 workers/);
  return { server, workers, join };
}

async function expectWell(server: CliProcess, workers: readonly CliProcess[]): Promise<void> {
  const result = await server.ended;
  expect(result).toMatchObject({ code: 0 });
  expect(result.stdout).toMatch(/test accuracy (9|100)/);
  for (const worker of workers) expect(await worker.ended).toMatchObject({ code: 0, signal: null });
}

describe.skipIf(!canLimit)('file descriptors run out', () => {
  it('at the controller: the run goes on, and a worker that comes is let in as soon as there is room', async () => {
    const { server, workers, join } = await runWith('few-at-controller');
    const { allow } = forbidDescriptors(server);
    join();
    // What it records shows that it goes on; nobody could join meanwhile.
    const events = place.path('few-at-controller/events.jsonl');
    const count = async (type: string): Promise<number> =>
      (await readFile(events, 'utf8')).split(`"${type}"`).length - 1;
    const before = await count('groupFormed');
    await expect.poll(() => count('groupFormed'), { timeout: 60_000 }).toBeGreaterThan(before + 100);
    expect(await count('workerJoined')).toBe(2);
    allow();
    await server.said(/worker 2 joined/);
    await expectWell(server, workers);
  });

  it('at a worker: the others go on, and so does it when there is room', async () => {
    const { server, workers, join } = await runWith('few-at-worker');
    const { allow } = forbidDescriptors(workers[0] as CliProcess);
    join();
    await server.said(/worker 2 joined/);
    allow();
    await expectWell(server, workers);
  });
});

function residentKiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]);
}

describe.skipIf(!canLimit)('memory', () => {
  it('of workers stays what it was over 10,000 reductions', async () => {
    const fleet = await startFleet({ core: { minWorkers: 2, groupSize: 2, maxLocalSteps: null }, length: 1000 });
    try {
      for (let i = 0; i < 2; i += 1) fleet.start({ stepMs: 0 });
      const isGroup = (group: number) => (event: { readonly type: string }) =>
        event.type === 'groupClosed' && --group < 0;
      const measure = (): readonly number[] => fleet.workers.map(({ process: { pid = 0 } }) => residentKiB(pid));
      // Caches are full and code is compiled by then.
      await fleet.when(isGroup(3000));
      const early = measure();
      await fleet.when(isGroup(10_000));
      const late = measure();
      late.forEach((kiB, i) => expect(kiB).toBeLessThan(1.2 * (early[i] ?? 0)));
      fleet.running.stop('seen enough');
      await fleet.running.ended;
    } finally {
      await fleet.close();
    }
  });
});

describe.skipIf(!canMount)('the disk is full', () => {
  const train = ['train', ...DATA, '--workers', '2', '--epochs', '2', '--out', `${MOUNT_POINT}/run`];

  it('for checkpoints only: the run says so each time, and ends with its model', async () => {
    const result = await place.runUnder('unshare', onSmallDisk(3_000_000), [...train, '--checkpoint-every', '200']);
    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toMatch(
      /checkpoint \d+: expected to write \S+\.safetensors, got "ENOSPC: no space left on device/,
    );
    expect(result.stdout).toMatch(/model +\/mnt\/run\/model\.safetensors/);
  });

  it('for everything: the run goes on to its end, and fails in one line', async () => {
    const result = await place.runUnder('unshare', onSmallDisk(4096), train);
    expect(result).toMatchObject({ code: 1 });
    expect(result.stderr.trimEnd().split('\n').at(-1)).toMatch(
      /^preduce: expected to write .*ENOSPC: no space left on device/,
    );
  });
});
