import { describe, expect, it } from 'vitest';
import { groupId, workerId } from '../base/ids.js';
import type { RunEvent } from './run-events.js';
import { createSummary, type EvaluationPoint, type SummaryFacts, secondsToTarget } from './summary.js';

const facts: SummaryFacts = {
  strategy: 'partial-reduce',
  workers: 2,
  groupSize: 2,
  weights: 'constant',
  seed: 7,
  targetAccuracy: 0.9,
  out: 'runs/x',
};

const [a, b] = [workerId(0), workerId(1)];

function ready(timeMs: number, worker: number, k = 1): RunEvent {
  return {
    type: 'ready',
    timeMs,
    worker: workerId(worker),
    k,
    samples: 64,
    loss: 0.5,
    finite: true,
    computeMs: 1,
    paddingMs: 0,
    overrun: false,
  };
}

function formed(timeMs: number, group: number, kind: 'step' | 'final' = 'step'): RunEvent {
  return {
    type: 'groupFormed',
    timeMs,
    group: groupId(1, group),
    kind,
    members: [a, b],
    weights: [0.5, 0.5],
    staleness: [0, 0],
    kMax: 1,
  };
}

function reduced(timeMs: number, group: number, worker: number): RunEvent {
  return { type: 'reduced', timeMs, group: groupId(1, group), worker: workerId(worker), bytesSent: 1000, reduceMs: 2 };
}

function closed(timeMs: number, group: number, kind: 'step' | 'final' = 'step', committed = [a, b]): RunEvent {
  return { type: 'groupClosed', timeMs, group: groupId(1, group), kind, committed, aborted: committed.length < 2 };
}

function evaluated(timeMs: number, accuracy: number, final = false): RunEvent {
  return {
    type: 'evaluated',
    timeMs,
    mark: 0,
    final,
    samples: timeMs,
    localSteps: 1,
    loss: 1 - accuracy,
    accuracy,
    replicas: 2,
    cpuMs: 1,
  };
}

const ended: RunEvent = {
  type: 'runEnded',
  timeMs: 200,
  reason: 'all data used',
  holders: [a, b],
  samples: 256,
  localSteps: 4,
  rho: 0.25,
  maxGroupsToConnect: 3,
  holdMs: 20,
  holdsExpired: 0,
};

/** Two workers, two groups, the second worker slower; then the final average. */
const wholeRun: readonly RunEvent[] = [
  { type: 'workerJoined', timeMs: -50, worker: a, incarnation: 0, hostname: 'h', pid: 1 },
  { type: 'workerSynced', timeMs: -20, worker: a, k: 0, donor: null },
  { type: 'started', timeMs: 0, workers: [a, b] },
  ready(10, 0),
  ready(40, 1),
  formed(40, 1),
  reduced(50, 1, 0),
  reduced(60, 1, 1),
  closed(60, 1),
  ready(60, 0),
  ready(100, 1),
  formed(100, 2),
  reduced(110, 2, 0),
  reduced(110, 2, 1),
  closed(110, 2),
  evaluated(100, 0.85),
  evaluated(50, 0.6),
  { type: 'fault', timeMs: 111, kind: 'suspect', worker: a, message: '' },
  { type: 'fault', timeMs: 112, kind: 'suspect', worker: a, message: '' },
  { type: 'fault', timeMs: 112, kind: 'death', worker: a, message: '' },
  { type: 'workerFinished', timeMs: 120, worker: a },
  { type: 'workerFinished', timeMs: 180, worker: b },
  formed(180, 3, 'final'),
  reduced(190, 3, 0),
  reduced(200, 3, 1),
  closed(200, 3, 'final'),
  ended,
  evaluated(200, 0.95, true),
];

function summarise(events: readonly RunEvent[], changes: Partial<SummaryFacts> = {}) {
  const builder = createSummary({ ...facts, ...changes });
  for (const event of events) builder.add(event);
  return builder;
}

describe('createSummary', () => {
  it('sums a whole run up', () => {
    const summary = summarise(wholeRun).result();
    expect(summary).toEqual({
      ...facts,
      wallSeconds: 0.2,
      // Half of the way from 0.85 at 100 ms to 0.95 at 200 ms
      targetSeconds: expect.closeTo(0.15, 9),
      updates: 2,
      updatesToTarget: 2,
      localSteps: 4,
      samples: 256,
      testAccuracy: 0.95,
      testLoss: expect.closeTo(0.05, 9),
      // Worker 0 waits 10-40, 60-100 and 120-180 of 190 ms, worker 1 not at all
      idleShare: expect.closeTo(130 / 190 / 2, 9),
      // Worker 0: 10 + 10 + 10 of 190; worker 1: 20 + 10 + 20 of 200
      reduceShare: expect.closeTo((30 / 190 + 50 / 200) / 2, 9),
      stepsPerWorker: [2, 2],
      groups: 2,
      rho: 0.25,
      maxGroupsToConnect: 3,
      holdShare: expect.closeTo(0.1, 9),
      bytesSent: 6000,
      faults: { suspect: 2 },
    });
  });

  it('counts the updates up to the target, whenever the evaluations were told', () => {
    // 0.7 lies between 0.6 at 50 ms and 0.85 at 100 ms: the first group closed at 60 ms, the second at 110 ms
    expect(summarise(wholeRun, { targetAccuracy: 0.7 }).result()).toMatchObject({ updates: 2, updatesToTarget: 1 });
    expect(summarise(wholeRun, { targetAccuracy: 0.99 }).result().updatesToTarget).toBeNull();
  });

  it('gives the evaluations in the order of time', () => {
    expect(
      summarise(wholeRun)
        .evaluations()
        .map((point) => point.timeMs),
    ).toEqual([50, 100, 200]);
  });

  it('makes do with an unfinished run', () => {
    const summary = summarise(wholeRun.slice(0, 9)).result();
    expect(summary).toMatchObject({
      wallSeconds: 0.06,
      targetSeconds: null,
      localSteps: 2,
      samples: 128,
      testAccuracy: null,
      testLoss: null,
      rho: null,
      maxGroupsToConnect: null,
      holdShare: 0,
    });
  });

  it('is empty without events', () => {
    const summary = summarise([]).result();
    expect(summary).toMatchObject({
      wallSeconds: 0,
      updates: 0,
      idleShare: 0,
      reduceShare: 0,
      stepsPerWorker: [0, 0],
      faults: {},
    });
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
  });

  it('counts aborted groups only where somebody committed, and deaths once', () => {
    const summary = summarise([
      { type: 'started', timeMs: 0, workers: [a, b] },
      formed(10, 1),
      closed(20, 1, 'step', []),
      formed(30, 2),
      closed(40, 2, 'step', [a]),
      { type: 'fault', timeMs: 40, kind: 'abort', worker: null, message: '' },
      { type: 'fault', timeMs: 40, kind: 'death', worker: b, message: '' },
      { type: 'workerDead', timeMs: 40, worker: b, reason: '' },
    ]).result();
    expect(summary).toMatchObject({ groups: 1, updates: 1, faults: { abort: 1, death: 1 } });
  });

  it('counts groups in which nobody has a weight, but not as updates', () => {
    const pulling = { ...formed(10, 1), weights: [0, 0] } as RunEvent;
    const summary = summarise([pulling, closed(20, 1), formed(30, 2), closed(40, 2)]).result();
    expect(summary).toMatchObject({ groups: 2, updates: 1 });
  });

  it('counts steps taken alone as updates, and workers beyond the planned number', () => {
    const summary = summarise([ready(5, 3), { type: 'released', timeMs: 5, worker: workerId(3), k: 1 }]).result();
    expect(summary).toMatchObject({ groups: 0, updates: 1, stepsPerWorker: [0, 0, 0, 1] });
  });
});

describe('secondsToTarget', () => {
  const points = (...pairs: readonly [number, number][]): EvaluationPoint[] =>
    pairs.map(([timeMs, accuracy]) => ({ timeMs, accuracy, samples: 0, loss: null }));

  it.each<[string, EvaluationPoint[], number | null, number | null]>([
    ['no target', points([1000, 0.9]), null, null],
    ['never reached', points([1000, 0.5], [2000, 0.89]), 0.9, null],
    ['no evaluation', [], 0.9, null],
    ['between two', points([1000, 0.5], [2000, 1]), 0.75, 1.5],
    ['exactly at one', points([1000, 0.8], [2000, 0.9], [3000, 0.95]), 0.9, 2],
    ['at the first', points([1000, 0.95], [2000, 0.99]), 0.9, 1],
    ['the first of several crossings', points([1000, 0.8], [2000, 0.9], [3000, 0.8], [4000, 0.9]), 0.9, 2],
  ])('%s', (_, curve, target, expected) => {
    expect(secondsToTarget(curve, target)).toBe(expected);
  });
});
