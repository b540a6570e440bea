/**
 * Workers that come while a run goes on (algorithms.md 3.4): at its beginning, later, during another's transfer, many at once, and
 * into a run whose iterations are shorter than the transfer. Each gets a whole model and takes part.
 */
import type { RunEvent } from 'preduce/client';
import { afterEach, describe, expect, it } from 'vitest';
import { type Fleet, type FleetWorker, startFleet } from './fleet.js';

/** 4 MB: a transfer takes longer than a step, which waits 2 ms. */
const LENGTH = 1_000_000;
const LIVENESS_MS = 5000;

type EventOf<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>;

let fleet: Fleet | null = null;

afterEach(async () => {
  await fleet?.close();
  fleet = null;
});

async function startTwo(): Promise<Fleet> {
  const core = { minWorkers: 2, groupSize: 2, maxLocalSteps: null, livenessMs: LIVENESS_MS };
  fleet = await startFleet({ core, length: LENGTH });
  for (let i = 0; i < 2; i += 1) fleet.start();
  return fleet;
}

async function startedAt(of: Fleet, k: number): Promise<void> {
  await of.when((event) => event.type === 'ready' && event.k >= k);
}

function all<T extends RunEvent['type']>(of: Fleet, type: T): readonly EventOf<T>[] {
  return of.events.filter((event): event is EventOf<T> => event.type === type);
}

function joinedK({ messages }: FleetWorker): number | undefined {
  return messages.find((message) => message.type === 'joined')?.k;
}

/** Each joiner becomes part of a group; then the run is stopped, and all of it is well. */
async function expectPart(of: Fleet, joiners: readonly number[]): Promise<void> {
  for (const joiner of joiners) {
    await of.when((event) => event.type === 'groupFormed' && event.members.includes(joiner as never));
  }
  of.running.stop('seen enough');
  const ended = (await of.when((event) => event.type === 'runEnded')) as EventOf<'runEnded'>;
  await of.running.ended;
  for (const worker of of.workers) {
    expect({ ...(await worker.exited), stderr: worker.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  }
  expect(ended.holders).toEqual(of.workers.map((_, i) => i));
  const values = of.workers.map(({ finalValue }) => finalValue);
  expect(values[0]).toBeGreaterThan(0);
  expect(new Set(values).size).toBe(1);
  expect(all(of, 'workerDead')).toEqual([]);
}

describe('a worker joins', () => {
  it('at the very beginning', async () => {
    const of = await startTwo();
    await of.when((event) => event.type === 'started');
    of.start();
    await expectPart(of, [2]);
  });

  it('later, and stands where its donor stood', async () => {
    const of = await startTwo();
    await startedAt(of, 100);
    const joiner = of.start();
    await expectPart(of, [2]);
    expect(joinedK(joiner)).toBeGreaterThanOrEqual(99);
  });

  it("during another's transfer, which goes on", async () => {
    const of = await startTwo();
    await startedAt(of, 5);
    const first = of.start();
    await of.when((event) => event.type === 'transferStarted' && event.worker === 2);
    // It keeps its transfer until the next one is there.
    first.process.kill('SIGSTOP');
    of.start();
    await of.when((event) => event.type === 'workerSynced' && event.worker === 3);
    expect(all(of, 'workerSynced').some(({ worker }) => worker === 2)).toBe(false);
    first.process.kill('SIGCONT');
    await expectPart(of, [2, 3]);
  });

  it('with seven others, from more than one donor', async () => {
    const of = await startTwo();
    await startedAt(of, 5);
    const joiners = Array.from({ length: 8 }, () => of.start());
    await expectPart(
      of,
      joiners.map((_, i) => 2 + i),
    );
    const donors = all(of, 'transferStarted').filter(({ worker }) => worker >= 2);
    expect(new Set(donors.map(({ donor }) => donor)).size).toBeGreaterThan(1);
  });

  it('though twenty iterations pass while it fetches the model', async () => {
    const of = await startTwo();
    await startedAt(of, 5);
    const joiner = of.start();
    const transfer = await of.when((event) => event.type === 'transferStarted' && event.worker === 2);
    joiner.process.kill('SIGSTOP');
    const until = Math.max(...all(of, 'ready').map(({ k }) => k)) + 20;
    await of.when((event) => event.type === 'ready' && event.k >= until);
    joiner.process.kill('SIGCONT');
    await expectPart(of, [2]);
    const synced = all(of, 'workerSynced').find(({ worker }) => worker === 2);
    expect(
      all(of, 'ready').filter(({ timeMs }) => timeMs > transfer.timeMs && timeMs < (synced?.timeMs ?? 0)).length,
    ).toBeGreaterThan(20);
  });
});
