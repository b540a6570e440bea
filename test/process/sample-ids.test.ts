/**
 * Which samples a run processed (algorithms.md 3.5), told by the workers themselves: every sample of every epoch at least once, and none
 * twice by workers that live to the end, whoever dies, leaves and joins meanwhile.
 */
import type { RunEvent } from 'preduce/client';
import { afterEach, describe, expect, it } from 'vitest';
import { type Fleet, type FleetWorker, startFleet } from './fleet.js';

const EPOCHS = 3;
/** Neither batches nor leases of the fixture divide it. */
const SAMPLES = 613;
const LEDGER = { sampleCount: SAMPLES, batchSamples: 5, leaseBatches: 3, epochs: EPOCHS };
/** Leases are numbered from 0. */
const LAST_LEASE = EPOCHS * Math.ceil(SAMPLES / (LEDGER.batchSamples * LEDGER.leaseBatches)) - 1;
const LIVENESS_MS = 2000;

let fleet: Fleet | null = null;

afterEach(async () => {
  await fleet?.close();
  fleet = null;
});

async function startThree(): Promise<Fleet> {
  fleet = await startFleet({
    program: 'lease-worker',
    core: { minWorkers: 3, ledger: LEDGER, maxLocalSteps: null, livenessMs: LIVENESS_MS },
    length: 1000,
  });
  for (let i = 0; i < 3; i += 1) fleet.start();
  return fleet;
}

function idsOf(workers: readonly FleetWorker[]): readonly string[] {
  return workers.flatMap(({ messages }) =>
    messages.flatMap((message) => (message.type === 'processed' ? message.ids : [])),
  );
}

const epochs = [...Array(EPOCHS).keys()];
const positions = [...Array(SAMPLES).keys()];
const all = epochs.flatMap((epoch) => positions.map((position) => `${epoch}:${position}`)).toSorted();

/** The run's end, and what was processed until then; `gone` are killed, or left. */
async function expectEnd(of: Fleet, gone: readonly FleetWorker[]): Promise<void> {
  const ended = await of.when((event) => event.type === 'runEnded');
  await of.running.ended;
  const living = of.workers.filter((worker) => !gone.includes(worker));
  for (const worker of living) {
    expect({ ...(await worker.exited), stderr: worker.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  }
  await Promise.all(gone.map((worker) => worker.exited));
  expect(ended.type === 'runEnded' && ended.holders.length).toBe(living.length);
  // What the dead had done of a lease that they did not complete, another did again: this alone would be all of an epoch.
  const told = idsOf(living);
  expect(new Set(told).size).toBe(told.length);
  expect([...new Set(idsOf(of.workers))].toSorted()).toEqual(all);
}

function hasTaken(worker: number, leases: number): (event: RunEvent) => boolean {
  let taken = 0;
  return (event) => event.type === 'leased' && event.worker === worker && ++taken >= leases;
}

describe('every sample of every epoch', () => {
  it('is processed once by workers that all live', async () => {
    const of = await startThree();
    await expectEnd(of, []);
    expect(idsOf(of.workers).toSorted()).toEqual(all);
  });

  it('is processed when two die with a lease in their hands', async () => {
    const of = await startThree();
    await of.when(hasTaken(0, 5));
    const first = of.processOf(0);
    first.process.kill('SIGKILL');
    await of.when(hasTaken(2, 20));
    const second = of.processOf(2);
    second.process.kill('SIGKILL');
    await expectEnd(of, [first, second]);
    expect(of.events.filter(({ type }) => type === 'workerDead')).toHaveLength(2);
  });

  it('is processed when one leaves and another joins', async () => {
    const of = await startThree();
    await of.when(hasTaken(1, 5));
    const leaver = of.processOf(1);
    leaver.process.kill('SIGTERM');
    await of.when((event) => event.type === 'workerLeft' && event.worker === 1);
    expect(await leaver.exited).toEqual({ code: 0, signal: null });
    const joiner = of.start();
    await expectEnd(of, [leaver]);
    expect(idsOf([joiner]).length).toBeGreaterThan(0);
  });

  it('is processed when the worker dies that holds the last lease', async () => {
    const of = await startThree();
    // The others have no more to do than what they hold: they must be there when this one's lease comes back.
    const last = await of.when((event) => event.type === 'leased' && event.lease === LAST_LEASE);
    const killed = of.processOf((last as Extract<RunEvent, { type: 'leased' }>).worker);
    killed.process.kill('SIGKILL');
    await expectEnd(of, [killed]);
  });
});
