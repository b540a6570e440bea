import { beforeEach, describe, expect, it } from 'vitest';
import { leaseId, workerId } from '../base/ids.js';
import { type CoreConfig, defaultCoreConfig } from './config.js';
import { type Controller, createController } from './controller.js';
import type { Effect } from './effects.js';
import type { Life, UntimedEvent } from './events.js';
import type { Lease } from './group.js';

const [a, b] = [0, 1].map((worker): Life => ({ worker: workerId(worker), incarnation: 1 })) as [Life, Life];
const PART = { lease: null, processed: 0, bytes: 100, sha256: 'f'.repeat(64) };

let core: Controller;
let told: Effect[];
let clockMs = 0;

function step(event: UntimedEvent, nowMs = clockMs): readonly Effect[] {
  clockMs = nowMs;
  const effects = core.step({ ...event, nowMs });
  told.push(...effects);
  return effects;
}

function ofType<K extends Effect['type']>(type: K): readonly Extract<Effect, { type: K }>[] {
  return told.filter((effect): effect is Extract<Effect, { type: K }> => effect.type === type);
}

function start(config: Partial<CoreConfig>): void {
  told = [];
  clockMs = 0;
  core = createController(
    defaultCoreConfig({
      ledger: { sampleCount: 100, batchSamples: 10, leaseBatches: 2, epochs: 2 },
      checkpoints: { everySamples: 40, everyMs: null },
      ...config,
    }),
  );
  for (const [ticket, life] of [a, b].entries()) {
    step({ type: 'joined', ticket, requested: life.worker });
    step({ type: 'synced', ...life, k: 0 });
  }
}

/** One step of both and their average. */
function round(k: number): void {
  for (const life of [a, b]) step({ type: 'ready', ...life, k, samples: 10, finite: true });
  const group = ofType('formGroup').at(-1)?.group;
  for (const life of [a, b]) step({ type: 'done', ...life, group: group?.id ?? (0 as never) });
}

function answer(life: Life, k: number, part: Partial<typeof PART> | { lease: number; processed: number } = {}): void {
  step({ type: 'checkpointed', ...life, checkpoint: lastAsked(), part: { ...PART, k, ...part } });
}

function lastAsked(): number {
  return ofType('askCheckpoint').at(-1)?.checkpoint ?? 0;
}

function leaseOf(life: Life): Lease | undefined {
  return ofType('lease').findLast(({ worker }) => worker === life.worker)?.lease;
}

beforeEach(() => {
  start({});
  for (const life of [a, b]) step({ type: 'leaseRequested', ...life, finished: null });
});

describe('a checkpoint', () => {
  it('is asked of everybody when its samples were processed, and told of when everybody has answered', () => {
    round(1);
    expect(ofType('askCheckpoint')).toEqual([]);
    round(2);
    expect(ofType('askCheckpoint')).toEqual([{ type: 'askCheckpoint', checkpoint: 1, fromK: 0, workers: [a, b] }]);
    answer(a, 2, { lease: 0, processed: 20 });
    expect(ofType('checkpoint')).toEqual([]);
    answer(b, 2, { lease: 1, processed: 20 });
    expect(ofType('checkpoint')).toMatchObject([
      {
        checkpoint: 1,
        parts: [
          { worker: 0, k: 2 },
          { worker: 1, k: 2 },
        ],
        progress: { samples: 40, localSteps: 4 },
        ledger: { nextId: 2, epoch: 0, start: 40, open: [] },
      },
    ]);
  });

  it('leaves out what the early ones do until the last has answered', () => {
    round(1);
    round(2);
    answer(a, 2, { lease: 0, processed: 20 });
    step({ type: 'leaseRequested', ...a, finished: leaseId(0) });
    // b's answer is of after the next round; a's lease 2 was taken after its own.
    round(3);
    answer(b, 3, { lease: 1, processed: 20 });
    const [cut] = ofType('checkpoint');
    expect(leaseOf(a)?.id).toBe(2);
    expect(cut).toMatchObject({
      progress: { samples: 50, localSteps: 5 },
      ledger: { nextId: 3, open: [{ id: 2, start: 40, count: 20 }] },
    });
  });

  it('calls a lease open whose end is not in the replica that is kept', () => {
    round(1);
    round(2);
    answer(a, 2, { lease: 0, processed: 10 });
    step({ type: 'leaseRequested', ...a, finished: leaseId(0) });
    answer(b, 2, { lease: 1, processed: 20 });
    expect(ofType('checkpoint')[0]?.ledger?.open).toEqual([
      { id: 0, epoch: 0, start: 10, count: 10 },
      { id: 2, epoch: 0, start: 40, count: 20 },
    ]);
  });

  it('does not wait for the dead', () => {
    round(1);
    round(2);
    answer(a, 2);
    step({ type: 'lost', ...b, reason: 'killed' });
    const [cut] = ofType('checkpoint');
    expect(cut?.parts.map(({ worker }) => worker)).toEqual([0]);
    expect(cut?.ledger?.open.map(({ id }) => id)).toEqual([0, 1]);
  });

  it('is not asked for while one is being collected, and given up where a worker cannot', () => {
    for (let k = 1; k <= 4; k += 1) round(k);
    expect(ofType('askCheckpoint')).toHaveLength(1);
    step({ type: 'checkpointFailed', ...b, checkpoint: 1, reason: 'the disk is full' });
    expect(ofType('checkpointFailed')).toEqual([
      { type: 'checkpointFailed', checkpoint: 1, worker: 1, reason: 'the disk is full' },
    ]);
    expect(lastAsked()).toBe(2);
    step({ type: 'checkpointed', ...a, checkpoint: 1, part: { ...PART, k: 4 } });
    answer(b, 4);
    expect(ofType('checkpoint')).toEqual([]);
    answer(a, 4);
    expect(ofType('checkpoint')).toMatchObject([{ checkpoint: 2 }]);
  });

  it('is asked for at the end, before anybody is told to finish', () => {
    round(1);
    const effects = step({ type: 'stop', reason: 'interrupted' });
    expect(effects.map(({ type }) => type)).toEqual(['askCheckpoint', 'finish', 'finish']);
  });

  it.each<[string, Parameters<typeof answer>[2], number]>([
    ['another k', {}, 1],
    ["another worker's lease", { lease: 1, processed: 0 }, 2],
    ['more samples than its lease has', { lease: 0, processed: 21 }, 2],
    ['samples of no lease', { processed: 5 }, 2],
  ])('is not answered with %s', (_, part, k) => {
    round(1);
    round(2);
    answer(a, k, part);
    expect(ofType('violation')).toHaveLength(1);
  });

  it('is not answered before it is asked for', () => {
    step({ type: 'checkpointed', ...a, checkpoint: 1, part: { ...PART, k: 0 } });
    expect(ofType('violation')).toHaveLength(1);
  });
});

describe('the moment of a checkpoint', () => {
  it('is after the first round that was not sent out yet, where replicas are synchronous', () => {
    start({ strategy: 'all-reduce' });
    for (const life of [a, b]) step({ type: 'leaseRequested', ...life, finished: null });
    round(1);
    step({ type: 'ready', ...a, k: 2, samples: 10, finite: true });
    const [asked] = [step({ type: 'ready', ...b, k: 2, samples: 10, finite: true })].flat().slice(-1);
    expect(asked).toMatchObject({ type: 'askCheckpoint', fromK: 3 });
  });

  it('may be one of time', () => {
    start({ checkpoints: { everySamples: null, everyMs: 500 } });
    expect(core.nextDeadlineMs()).toBe(500);
    step({ type: 'tick' }, 499);
    expect(ofType('askCheckpoint')).toEqual([]);
    step({ type: 'tick' }, 500);
    expect(ofType('askCheckpoint')).toHaveLength(1);
    expect(core.nextDeadlineMs()).toBeNull();
    answer(a, 0);
    answer(b, 0);
    expect(core.nextDeadlineMs()).toBe(1000);
  });

  it('never comes without checkpoints', () => {
    start({ checkpoints: null });
    for (let k = 1; k <= 9; k += 1) round(k);
    step({ type: 'stop', reason: 'interrupted' });
    expect(ofType('askCheckpoint')).toEqual([]);
  });
});

describe('a restored run', () => {
  beforeEach(() => {
    const open = [{ id: 1, epoch: 0, start: 30, count: 10 }];
    start({
      evaluateEverySamples: 100,
      restored: {
        progress: { samples: 130, localSteps: 13 },
        ledger: { nextId: 7, epoch: 1, start: 40, open },
        checkpoint: 4,
      },
    });
  });

  it('has every worker bring its own state, and goes on with the ledger, progress and numbers', () => {
    expect(ofType('seed')).toHaveLength(2);
    expect(ofType('transfer')).toEqual([]);
    for (const life of [a, b]) step({ type: 'leaseRequested', ...life, finished: null });
    expect(leaseOf(a)).toEqual({ id: 1, epoch: 0, start: 30, count: 10 });
    expect(leaseOf(b)).toEqual({ id: 7, epoch: 1, start: 40, count: 20 });
    expect(core.view().progress).toEqual({ samples: 130, localSteps: 13 });
    round(1);
    round(2);
    round(3);
    expect(ofType('askCheckpoint')).toMatchObject([{ checkpoint: 5 }]);
    expect(ofType('evaluate')).toEqual([]);
  });

  it('gives a late joiner the model of a donor', () => {
    step({ type: 'joined', ticket: 9, requested: null });
    expect(ofType('transfer')).toHaveLength(1);
  });
});
