import { describe, expect, it } from 'vitest';
import { groupId, workerId } from '../base/ids.js';
import type { RunEvent } from './run-events.js';
import { createWorkerTimes } from './worker-time.js';

const group = groupId(1, 1);

function started(...workers: number[]): RunEvent {
  return { type: 'started', timeMs: 0, workers: workers.map(workerId) };
}

function ready(timeMs: number, worker: number): RunEvent {
  return {
    type: 'ready',
    timeMs,
    worker: workerId(worker),
    k: 1,
    samples: 10,
    loss: null,
    finite: true,
    computeMs: 0,
    paddingMs: 0,
    overrun: false,
  };
}

function formed(timeMs: number, ...members: number[]): RunEvent {
  return {
    type: 'groupFormed',
    timeMs,
    group,
    kind: 'step',
    members: members.map(workerId),
    weights: [],
    staleness: [],
    kMax: 1,
  };
}

function aborted(timeMs: number, ...committed: number[]): RunEvent {
  return { type: 'groupClosed', timeMs, group, kind: 'step', committed: committed.map(workerId), aborted: true };
}

function reduced(timeMs: number, worker: number): RunEvent {
  return { type: 'reduced', timeMs, group, worker: workerId(worker), bytesSent: 0, reduceMs: 0 };
}

function ended(timeMs: number): RunEvent {
  return {
    type: 'runEnded',
    timeMs,
    reason: '',
    holders: [],
    samples: 0,
    localSteps: 0,
    rho: null,
    maxGroupsToConnect: 0,
    holdMs: 0,
    holdsExpired: 0,
  };
}

describe('createWorkerTimes', () => {
  it.each<[string, readonly RunEvent[], readonly (readonly [number, number, number, number])[]]>([
    // [worker, compute, wait, reduce]
    [
      'a group',
      [started(0, 1), ready(5, 0), ready(9, 1), formed(9, 0, 1), reduced(12, 0), reduced(15, 1), ended(20)],
      [
        [0, 13, 4, 3],
        [1, 14, 0, 6],
      ],
    ],
    [
      'an abort: survivors wait again, those who committed compute, the dead are gone',
      [
        started(0, 1, 2),
        ready(2, 0),
        ready(2, 1),
        ready(2, 2),
        formed(4, 0, 1, 2),
        reduced(6, 0),
        { type: 'workerDead', timeMs: 8, worker: workerId(2), reason: '' },
        aborted(10, 0),
        ended(20),
      ],
      [
        [0, 16, 2, 2],
        [1, 2, 12, 6],
        [2, 2, 2, 4],
      ],
    ],
    [
      'going on alone',
      [started(0), ready(3, 0), { type: 'released', timeMs: 4, worker: workerId(0), k: 1 }, ended(10)],
      [[0, 9, 1, 0]],
    ],
    [
      'a joiner, from the time it holds the model',
      [
        { type: 'workerSynced', timeMs: -3, worker: workerId(0), k: 0, donor: null },
        started(0),
        { type: 'workerJoined', timeMs: 5, worker: workerId(1), incarnation: 0, hostname: '', pid: 1 },
        { type: 'workerSynced', timeMs: 8, worker: workerId(1), k: 4, donor: workerId(0) },
        ended(10),
      ],
      [
        [0, 10, 0, 0],
        [1, 2, 0, 0],
      ],
    ],
    [
      'a leaver, until it leaves',
      [started(0, 1), { type: 'workerLeft', timeMs: 6, worker: workerId(1) }, ended(10)],
      [
        [0, 10, 0, 0],
        [1, 6, 0, 0],
      ],
    ],
    ['a run that never started', [ended(10)], []],
  ])('accounts for %s', (_, events, expected) => {
    const times = createWorkerTimes();
    for (const event of events) times.add(event);
    expect(times.result().map((time) => [time.worker, time.computeMs, time.waitMs, time.reduceMs])).toEqual(expected);
  });

  it('counts steps and samples', () => {
    const times = createWorkerTimes();
    for (const event of [started(0), ready(1, 0), ready(2, 0)]) times.add(event);
    expect(times.result()).toEqual([{ worker: 0, steps: 2, samples: 20, computeMs: 1, waitMs: 1, reduceMs: 0 }]);
  });

  it('takes a member that computes on for computing, and one that rests for resting', () => {
    const times = createWorkerTimes();
    const events: readonly RunEvent[] = [
      started(0, 1, 2),
      ready(10, 1),
      { type: 'wentOn', timeMs: 10, worker: workerId(1) },
      { type: 'workerFinished', timeMs: 20, worker: workerId(2) },
      ready(30, 0),
      { ...formed(30, 0, 1, 2), passive: [workerId(1), workerId(2)] } as RunEvent,
      ...[0, 1, 2].map((worker) => reduced(40, worker)),
      // Its READY comes within a group that it is a passive member of, and is answered by it.
      ready(50, 0),
      { ...formed(50, 0, 1), passive: [workerId(1)] } as RunEvent,
      ready(55, 1),
      ...[0, 1].map((worker) => reduced(60, worker)),
      ended(100),
    ];
    for (const event of events) times.add(event);
    expect(times.result()).toMatchObject([
      { worker: 0, computeMs: 80, waitMs: 0, reduceMs: 20 },
      { worker: 1, computeMs: 95, waitMs: 5, reduceMs: 0, steps: 2 },
      { worker: 2, computeMs: 20, waitMs: 80, reduceMs: 0, steps: 0 },
    ]);
  });

  it('counts the local steps of a round', () => {
    const times = createWorkerTimes();
    for (const event of [started(0), { ...ready(10, 0), steps: 4 } as RunEvent, ended(20)]) times.add(event);
    expect(times.result()).toMatchObject([{ steps: 4, computeMs: 10, waitMs: 10 }]);
  });
});
