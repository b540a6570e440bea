/**
 * SIGKILL of one worker at each phase of a run (algorithms.md 3.3): the survivors go on, end well, and hold one same
 * model that never saw a partial sum. The kill is triggered by the event that opens the phase.
 */
import type { RunEvent } from 'preduce/client';
import { afterEach, describe, expect, it } from 'vitest';
import { someOf } from '../support/thorough.js';
import { type Fleet, startFleet } from './fleet.js';

const WORKERS = 4;
/** 16 MB: a collective takes long enough for the kill to meet it on its way. */
const LENGTH = 4_000_000;

let fleet: Fleet | null = null;

afterEach(async () => {
  await fleet?.close();
  fleet = null;
});

async function startFour(length: number, maxLocalSteps: number): Promise<Fleet> {
  fleet = await startFleet({ core: { minWorkers: WORKERS, groupSize: 2, maxLocalSteps, livenessMs: 2000 }, length });
  for (let i = 0; i < WORKERS; i += 1) fleet.start();
  return fleet;
}

/** The run ends, everybody but the killed ones exits with 0, and all hold the same final value. */
async function expectSurvivors(of: Fleet, killed: readonly number[]): Promise<void> {
  const ended = await of.when((event) => event.type === 'runEnded');
  await of.running.ended;
  const dead = killed.map((worker) => of.processOf(worker));
  const survivors = of.workers.filter((worker) => !dead.includes(worker));
  for (const survivor of survivors) {
    expect({ ...(await survivor.exited), stderr: survivor.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  }
  expect(ended).toMatchObject({ type: 'runEnded' });
  expect(ended.type === 'runEnded' && ended.holders.length).toBe(survivors.length);
  const values = survivors.map((survivor) => survivor.finalValue);
  expect(values[0]).toBeGreaterThan(0);
  expect(new Set(values).size).toBe(1);
}

/** Kills `victim(event)` at the first event for which it is not null. */
async function killAt(of: Fleet, victim: (event: RunEvent) => number | null): Promise<number> {
  return new Promise((resolve) => {
    let killed = false;
    of.onEvent((event) => {
      const worker = killed ? null : victim(event);
      if (worker === null) return;
      killed = true;
      of.processOf(worker).process.kill('SIGKILL');
      resolve(worker);
    });
  });
}

describe('SIGKILL of one worker', () => {
  it.each(someOf(1, [0, 3, 1, 2]))('while worker %i computes', async (target) => {
    const of = await startFour(1000, 400);
    const killed = await killAt(of, (event) => (event.type === 'reduced' && event.worker === target ? target : null));
    await expectSurvivors(of, [killed]);
  });

  it('while it waits in the queue', async () => {
    const of = await startFleet({
      core: { minWorkers: 4, groupSize: 3, maxLocalSteps: 300, livenessMs: 2000 },
      length: 1000,
    });
    fleet = of;
    for (let i = 0; i < WORKERS; i += 1) of.start();
    const killed = await killAt(of, (event) => {
      // Two steps after the start nobody else is in the queue when this one arrives.
      const alone = of.running.view().queue.length === 0;
      return event.type === 'ready' && event.k > 2 && alone ? event.worker : null;
    });
    await expectSurvivors(of, [killed]);
  });

  it('in the middle of a collective', async () => {
    const of = await startFour(LENGTH, 60);
    const killed = await killAt(of, (event) =>
      event.type === 'groupFormed' && event.kind === 'step' && event.kMax > 2 ? (event.members[1] ?? null) : null,
    );
    await expectSurvivors(of, [killed]);
    expect(of.events.some((event) => event.type === 'groupClosed' && event.aborted)).toBe(true);
  });

  it('that hands its model to a joiner', async () => {
    const of = await startFour(LENGTH, 80);
    await of.when((event) => event.type === 'started');
    of.start();
    const killed = await killAt(of, (event) =>
      event.type === 'transferStarted' && event.worker === 4 ? event.donor : null,
    );
    await expectSurvivors(of, [killed]);
    expect(of.events.some((event) => event.type === 'workerSynced' && event.worker === 4)).toBe(true);
  });

  it('that fetches the model', async () => {
    const of = await startFour(LENGTH, 80);
    await of.when((event) => event.type === 'started');
    of.start();
    const killed = await killAt(of, (event) => (event.type === 'transferStarted' && event.worker === 4 ? 4 : null));
    await expectSurvivors(of, [killed]);
  });

  it('during the final average', async () => {
    const of = await startFour(LENGTH, 20);
    const killed = await killAt(of, (event) =>
      event.type === 'groupFormed' && event.kind === 'final' ? (event.members[0] ?? null) : null,
    );
    await expectSurvivors(of, [killed]);
  });
});

describe('SIGKILL of all but one worker', () => {
  it('leaves the last one training alone to the end', async () => {
    const of = await startFour(1000, 300);
    await of.when((event) => event.type === 'ready' && event.k > 5);
    for (const worker of [0, 1, 2]) of.processOf(worker).process.kill('SIGKILL');
    await expectSurvivors(of, [0, 1, 2]);
  });
});
