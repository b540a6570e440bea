/**
 * Values that went wrong (algorithms.md 4.5 and 8): NaN at one worker, at a whole group, at all; and one worker's values times a
 * million, with and without clipping. Workers of this process, each with a comm thread and sockets of its own, that
 * descend from 0 to the minimum of (x - 1)^2.
 */
import { controller, type CoreConfig, joinRun, type RunEvent, type RunningController } from 'preduce/client';
import { afterEach, describe, expect, it } from 'vitest';
import { someOf } from '../support/thorough.js';
import { createEventLog, type EventLog } from '../support/event-log.js';

const LENGTH = 64;
const RATE = 0.1;

let running: RunningController | null = null;

afterEach(async () => {
  await running?.close();
  running = null;
});

interface Outcome {
  readonly log: EventLog<RunEvent>;
  /** What each worker ended with; null where it failed. */
  readonly models: readonly (Float32Array | null)[];
}

/** What a worker makes of its replica before it shows it; `step` counts its own, null: at the end. */
type Fault = (parameters: Float32Array, at: { readonly worker: number; readonly step: number | null }) => void;

async function descend(workers: number, core: Partial<CoreConfig>, spoil: Fault): Promise<Outcome> {
  const log = createEventLog<RunEvent>();
  const run = await controller({ core: { minWorkers: workers, livenessMs: 5000, ...core }, onEvent: log.add });
  running = run;

  async function work(): Promise<Float32Array> {
    const initial = new Float32Array(LENGTH).fill(3);
    const part = await joinRun({ controller: run.url, layout: [{ name: 'x', shape: [LENGTH] }], initial });
    const { parameters, worker } = part;
    let step = 0;
    while (!part.done) {
      for (let i = 0; i < LENGTH; i += 1) {
        const x = parameters[i] as number;
        parameters[i] = x - RATE * 2 * (x - 1);
      }
      step += 1;
      spoil(parameters, { worker, step });
      await part.reduce({ samples: 1 });
    }
    spoil(parameters, { worker, step: null });
    return part.finish();
  }

  const models = await Promise.all(Array.from({ length: workers }, () => work().catch(() => null)));
  await run.ended;
  return { log, models };
}

function faultsOf({ log }: Outcome, kind: string): readonly RunEvent[] {
  return log.events.filter((event) => event.type === 'fault' && event.kind === kind);
}

function endOf({ log }: Outcome): Extract<RunEvent, { type: 'runEnded' }> {
  return log.events.find((event) => event.type === 'runEnded') as Extract<RunEvent, { type: 'runEnded' }>;
}

function farthest({ models }: Outcome): number {
  return Math.max(
    ...models.map((model) => (model === null ? Infinity : Math.max(...model.map((x) => Math.abs(x - 1))))),
  );
}

const million: Fault = (parameters, { worker }) => {
  if (worker !== 1) return;
  for (let i = 0; i < parameters.length; i += 1) parameters[i] = 1e6 * (parameters[i] as number);
};

describe('a worker whose values are a million times too large', () => {
  const steps = { maxLocalSteps: 200 };

  it.each(someOf(2, [2, 3, 4]))(
    'is bounded by --robust clip in groups of %i, and the run converges',
    async (groupSize) => {
      const outcome = await descend(4, { ...steps, groupSize, robust: 'clip' }, million);
      expect(endOf(outcome).holders).toHaveLength(4);
      expect(farthest(outcome)).toBeLessThan(0.05);
      const clipped = faultsOf(outcome, 'clipped').filter((fault) => 'worker' in fault && fault.worker === 1);
      const groups = outcome.log.events.filter(
        (event) => event.type === 'groupClosed' && event.committed.includes(1 as never),
      );
      expect(clipped.length).toBe(groups.length);
      expect(groups.length).toBeGreaterThan(5);
    },
  );

  it('ruins the model without', async () => {
    const outcome = await descend(4, { ...steps, groupSize: 2 }, million);
    expect(farthest(outcome)).toBeGreaterThan(1e6);
  });

  it('is bounded where everybody averages', async () => {
    const outcome = await descend(3, { ...steps, strategy: 'local-sgd', localSteps: 1, robust: 'clip' }, million);
    expect(farthest(outcome)).toBeLessThan(0.05);
  });
});

describe('a replica that is not finite', () => {
  it('of one worker takes the average of the others, who stay finite', async () => {
    const outcome = await descend(4, { maxLocalSteps: 200 }, (parameters, { worker, step }) => {
      if (worker === 2 && step !== null && step % 5 === 0) parameters[7] = Number.NaN;
    });
    expect(endOf(outcome).holders).toHaveLength(4);
    expect(farthest(outcome)).toBeLessThan(0.05);
    const faults = faultsOf(outcome, 'not-finite');
    expect(faults.length).toBeGreaterThan(2);
    for (const fault of faults) expect(fault).toMatchObject({ worker: 2 });
  });

  it('of a whole group waits for a finite one, and is healed', async () => {
    const outcome = await descend(4, { maxLocalSteps: 200 }, (parameters, { worker, step }) => {
      if (worker < 2 && step === 4) parameters.fill(Number.POSITIVE_INFINITY);
    });
    expect(endOf(outcome).holders).toHaveLength(4);
    expect(farthest(outcome)).toBeLessThan(0.05);
    expect(new Set(faultsOf(outcome, 'not-finite').map((fault) => 'worker' in fault && fault.worker))).toEqual(
      new Set([0, 1]),
    );
  });

  it('of every worker ends the run, without a model', async () => {
    const outcome = await descend(3, { maxLocalSteps: 10_000 }, (parameters, { step }) => {
      if (step !== null && step >= 5) parameters[0] = Number.NaN;
    });
    expect(endOf(outcome)).toMatchObject({ holders: [], reason: expect.stringContaining('no live replica is finite') });
    expect(outcome.models).toEqual([null, null, null]);
  });
});
