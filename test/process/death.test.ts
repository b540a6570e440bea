/**
 * SIGKILL of one worker at each phase of a run (algorithms.md 3.3): the survivors go on, end well, and hold one same
 * model that never saw a partial sum. The kill is triggered by the event that opens the phase.
 */
import type { RunEvent } from 'preduce/client';
import { afterEach, describe, expect, it } from 'vitest';
import { someOf } from '../support/thorough.js';
import { type Fleet, startFleet } from './fleet.js';

const WORKERS = 4;
const LIVENESS_MS = 2000;
/** Each in turn; where few are played, worker 0 at least. */
const EACH = [0, 3, 1, 2];
/** 16 MB: a collective takes long enough for the kill to meet it on its way. */
const LENGTH = 4_000_000;

let fleet: Fleet | null = null;

afterEach(async () => {
  await fleet?.close();
  fleet = null;
});

async function startFour(length: number, maxLocalSteps: number): Promise<Fleet> {
  fleet = await startFleet({
    core: { minWorkers: WORKERS, groupSize: 2, maxLocalSteps, livenessMs: LIVENESS_MS },
    length,
  });
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

interface Kill {
  readonly killed: readonly number[];
  /** On the run's clock. */
  readonly timeMs: number;
}

/** Kills `victims(event)` at the first event for which there are any. */
async function killAt(of: Fleet, victims: (event: RunEvent) => readonly number[]): Promise<Kill> {
  return new Promise((resolve) => {
    let isDone = false;
    of.onEvent((event) => {
      const killed = isDone ? [] : victims(event);
      if (killed.length === 0) return;
      isDone = true;
      for (const worker of killed) of.processOf(worker).process.kill('SIGKILL');
      resolve({ killed, timeMs: event.timeMs });
    });
  });
}

/** The group of this kind that is the first without the dead: it waits for no more than that they are known to be dead. */
async function expectNextGroup(of: Fleet, { killed, timeMs }: Kill, kind: 'step' | 'final'): Promise<void> {
  const next = await of.when(
    (event) =>
      event.type === 'groupFormed' &&
      event.kind === kind &&
      event.timeMs > timeMs &&
      event.members.every((member) => !killed.includes(member)),
  );
  expect(next.timeMs - timeMs).toBeLessThan(2 * LIVENESS_MS);
}

describe('SIGKILL of one worker', () => {
  it.each(someOf(1, EACH))('while worker %i computes', async (target) => {
    const of = await startFour(1000, 400);
    const kill = await killAt(of, (event) => (event.type === 'reduced' && event.worker === target ? [target] : []));
    await expectNextGroup(of, kill, 'step');
    await expectSurvivors(of, kill.killed);
  });

  it.each(someOf(1, EACH))('while worker %i waits in the queue', async (target) => {
    const of = await startFleet({
      core: { minWorkers: 4, groupSize: 3, maxLocalSteps: 600, livenessMs: LIVENESS_MS },
      length: 1000,
    });
    fleet = of;
    for (let i = 0; i < WORKERS; i += 1) of.start();
    const kill = await killAt(of, (event) => {
      // Two steps after the start nobody else is in the queue when this one arrives.
      const isAlone = of.running.view().queue.length === 0;
      return event.type === 'ready' && event.worker === target && event.k > 2 && isAlone ? [target] : [];
    });
    await expectNextGroup(of, kill, 'step');
    await expectSurvivors(of, kill.killed);
  });

  it.each(someOf(1, EACH))('while worker %i is in the middle of a collective', async (target) => {
    const of = await startFour(LENGTH, 60);
    const kill = await killAt(of, (event) => {
      const isItsGroup =
        event.type === 'groupFormed' && event.kind === 'step' && event.members.includes(target as never);
      return isItsGroup && event.kMax > 2 ? [target] : [];
    });
    await expectNextGroup(of, kill, 'step');
    await expectSurvivors(of, kill.killed);
    expect(of.events.some((event) => event.type === 'groupClosed' && event.aborted)).toBe(true);
  });

  it('that hands its model to a joiner', async () => {
    const of = await startFour(LENGTH, 80);
    await of.when((event) => event.type === 'started');
    of.start();
    const kill = await killAt(of, (event) =>
      event.type === 'transferStarted' && event.worker === 4 && event.donor !== null ? [event.donor] : [],
    );
    await expectNextGroup(of, kill, 'step');
    await expectSurvivors(of, kill.killed);
    expect(of.events.some((event) => event.type === 'workerSynced' && event.worker === 4)).toBe(true);
  });

  it('that fetches the model', async () => {
    const of = await startFour(LENGTH, 80);
    await of.when((event) => event.type === 'started');
    of.start();
    const kill = await killAt(of, (event) => (event.type === 'transferStarted' && event.worker === 4 ? [4] : []));
    await expectNextGroup(of, kill, 'step');
    await expectSurvivors(of, kill.killed);
  });

  it.each(someOf(1, EACH))('while worker %i takes part in the final average', async (target) => {
    const of = await startFour(LENGTH, 20);
    const kill = await killAt(of, (event) =>
      event.type === 'groupFormed' && event.kind === 'final' && event.members.includes(target as never) ? [target] : [],
    );
    await expectNextGroup(of, kill, 'final');
    await expectSurvivors(of, kill.killed);
  });
});

describe('SIGKILL of two workers at once', () => {
  it('of one group: nobody is left in it', async () => {
    const of = await startFour(LENGTH, 60);
    const kill = await killAt(of, (event) =>
      event.type === 'groupFormed' && event.kind === 'step' && event.kMax > 2 ? event.members : [],
    );
    expect(kill.killed).toHaveLength(2);
    await expectNextGroup(of, kill, 'step');
    await expectSurvivors(of, kill.killed);
  });

  it('one in a collective, the other computing', async () => {
    const of = await startFour(LENGTH, 60);
    const kill = await killAt(of, (event) => {
      if (event.type !== 'groupFormed' || event.kind !== 'step' || event.kMax <= 2) return [];
      const outside = [0, 1, 2, 3].find((worker) => !event.members.includes(worker as never)) ?? 0;
      return [event.members[0] ?? 0, outside];
    });
    await expectNextGroup(of, kill, 'step');
    await expectSurvivors(of, kill.killed);
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
