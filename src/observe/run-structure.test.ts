import { describe, expect, it } from 'vitest';
import { groupId, workerId } from '../base/ids.js';
import { createMeetings } from './meetings.js';
import type { RunEvent } from './run-events.js';
import { createRunStructure } from './run-structure.js';
import { addStaleness, createStaleness } from './staleness.js';
import { createTimeline, type Timeline } from './timeline.js';

function started(...workers: number[]): RunEvent {
  return { type: 'started', timeMs: 0, workers: workers.map(workerId) };
}

function ready(timeMs: number, worker: number): RunEvent {
  const step = { k: 1, samples: 1, loss: null, finite: true, computeMs: 0, paddingMs: 0, overrun: false };
  return { type: 'ready', timeMs, worker: workerId(worker), ...step };
}

function formed(timeMs: number, group: number, members: number[], staleness: number[] = [], kind = 'step'): RunEvent {
  return {
    type: 'groupFormed',
    timeMs,
    group: groupId(1, group),
    kind: kind as 'step' | 'final',
    members: members.map(workerId),
    weights: [],
    staleness,
    kMax: 9,
  };
}

function closed(timeMs: number, group: number, committed: number[], kind = 'step'): RunEvent {
  return {
    type: 'groupClosed',
    timeMs,
    group: groupId(1, group),
    kind: kind as 'step' | 'final',
    committed: committed.map(workerId),
    aborted: committed.length === 0,
  };
}

function reduced(timeMs: number, group: number, worker: number): RunEvent {
  return { type: 'reduced', timeMs, group: groupId(1, group), worker: workerId(worker), bytesSent: 0, reduceMs: 0 };
}

/** One iteration of workers 0 and 1, of 10 ms: compute 6 (worker 1: 8), wait to 8, reduce to 10. */
function iteration(index: number): RunEvent[] {
  const at = 10 * index;
  return [
    ready(at + 6, 0),
    ready(at + 8, 1),
    formed(at + 8, index, [0, 1], [0, 0]),
    reduced(at + 10, index, 0),
    reduced(at + 10, index, 1),
    closed(at + 10, index, [0, 1]),
  ];
}

function timelineOf(events: readonly RunEvent[]): Timeline | null {
  const timeline = createTimeline();
  for (const event of events) timeline.add(event);
  return timeline.result();
}

describe('createTimeline', () => {
  it('shows a short run whole', () => {
    const timeline = timelineOf([started(0, 1), ...iteration(0)]);
    expect(timeline).toMatchObject({ startMs: 0, endMs: 10 });
    expect(timeline?.intervals.map((of) => [of.worker, of.activity, of.startMs, of.endMs])).toEqual([
      [0, 'compute', 0, 6],
      [0, 'wait', 6, 8],
      [0, 'reduce', 8, 10],
      [1, 'compute', 0, 8],
      [1, 'reduce', 8, 10],
    ]);
    expect(timeline?.groups).toEqual([{ group: groupId(1, 0), formedMs: 8, members: [0, 1], aborted: false }]);
  });

  it.each([20, 100, 1000, 1023])('shows a dozen steps a worker near the middle of %i iterations', (iterations) => {
    const events = Array.from({ length: iterations }, (_, index) => iteration(index)).flat();
    const timeline = timelineOf([started(0, 1), ...events]) as Timeline;
    const end = 10 * iterations;
    expect(timeline.startMs).toBeGreaterThanOrEqual(end / 4);
    expect(timeline.startMs).toBeLessThanOrEqual(end / 2);
    expect(timeline.groups.length).toBeGreaterThanOrEqual(iterations === 20 ? 10 : 11);
    expect(timeline.groups.length).toBeLessThanOrEqual(13);
    for (const worker of [0, 1]) {
      const own = timeline.intervals.filter((interval) => interval.worker === worker);
      // Neither gap nor overlap, from edge to edge
      expect(own[0]?.startMs).toBe(timeline.startMs);
      expect(own.at(-1)?.endMs).toBe(timeline.endMs);
      own.slice(1).forEach((interval, index) => expect(interval.startMs).toBe(own[index]?.endMs));
    }
  });

  it('marks a group that ended without an average', () => {
    const timeline = timelineOf([started(0, 1), ready(1, 0), ready(2, 1), formed(2, 0, [0, 1]), closed(5, 0, [])]);
    expect(timeline?.groups.map((group) => group.aborted)).toEqual([true]);
  });

  it('ends where the events of a killed run end', () => {
    const timeline = timelineOf([started(0), ready(4, 0)]);
    expect(timeline?.intervals.map((of) => [of.activity, of.endMs])).toEqual([['compute', 4]]);
  });

  it.each<[string, RunEvent[]]>([
    ['nothing', []],
    ['a run that never started', [ready(1, 0)]],
  ])('has nothing to show of %s', (_, events) => {
    expect(timelineOf(events)).toBeNull();
  });
});

function meetingsOf(...events: RunEvent[]) {
  const meetings = createMeetings();
  for (const event of events) meetings.add(event);
  return meetings.result();
}

describe('createMeetings', () => {
  it('counts pairs of groups that committed, beside uniform drawing', () => {
    const { workers, met, uniform, groups, wholeGroups } = meetingsOf(
      started(2, 0, 1),
      closed(1, 0, [0, 1]),
      closed(2, 1, [1, 0]),
      closed(3, 2, [1, 2]),
      closed(4, 3, []),
      closed(5, 4, [0, 1, 2], 'final'),
    );
    expect(workers).toEqual([0, 1, 2]);
    expect(met).toEqual([
      [0, 2, 0],
      [2, 0, 1],
      [0, 1, 0],
    ]);
    // Three groups, each of one of three pairs
    expect(uniform.map((row) => row.map((value) => Number(value.toFixed(9))))).toEqual([
      [0, 1, 1],
      [1, 0, 1],
      [1, 1, 0],
    ]);
    expect({ groups, wholeGroups }).toEqual({ groups: 3, wholeGroups: 0 });
  });

  it('expects meetings only while both are there', () => {
    const { uniform } = meetingsOf(
      started(0, 1),
      closed(1, 0, [0, 1]),
      { type: 'workerSynced', timeMs: 2, worker: workerId(2), k: 1, donor: workerId(0) },
      closed(3, 1, [0, 1]),
      { type: 'workerDead', timeMs: 4, worker: workerId(0), reason: '' },
      closed(5, 2, [1, 2]),
    );
    const third = 1 / 3;
    expect(uniform.map((row) => row.map((value) => Number(value.toFixed(9))))).toEqual(
      [
        [0, 1 + third, third],
        [1 + third, 0, 1 + third],
        [third, 1 + third, 0],
      ].map((row) => row.map((value) => Number(value.toFixed(9)))),
    );
  });

  it('tells groups of everybody from others', () => {
    expect(meetingsOf(started(0, 1, 2), closed(1, 0, [0, 1, 2]), closed(2, 1, [0, 2]))).toMatchObject({
      groups: 2,
      wholeGroups: 1,
    });
  });

  it('takes a worker whose death is told before its last group closes', () => {
    const { met, uniform } = meetingsOf(
      started(0, 1),
      { type: 'workerDead', timeMs: 1, worker: workerId(1), reason: '' },
      closed(2, 0, [0, 1]),
    );
    expect(met[0]?.[1]).toBe(1);
    expect(uniform[0]?.every(Number.isFinite)).toBe(true);
  });

  it('is bounded however many workers there are', () => {
    const many = Array.from({ length: 200 }, (_, index) => index);
    const { workers, met, wholeGroups } = meetingsOf(started(...many), closed(1, 0, many));
    expect([workers.length, met.length, met[3]?.[5], wholeGroups]).toEqual([64, 64, 1, 1]);
  });

  it('is empty without events', () => {
    expect(meetingsOf()).toEqual({ workers: [], met: [], uniform: [], groups: 0, wholeGroups: 0 });
  });
});

describe('createStaleness', () => {
  it.each<[string, RunEvent[], { counts: number[]; mean: number; max: number }]>([
    ['no group', [started(0)], { counts: [], mean: 0, max: 0 }],
    [
      'members of groups',
      [formed(1, 0, [0, 1], [0, 3]), formed(2, 1, [0, 2], [1, 0])],
      { counts: [2, 1, 0, 1], mean: 1, max: 3 },
    ],
    ['not the final average', [formed(1, 0, [0, 1], [0, 7], 'final')], { counts: [], mean: 0, max: 0 }],
  ])('counts %s', (_, events, expected) => {
    const staleness = createStaleness();
    for (const event of events) staleness.add(event);
    expect(staleness.result()).toEqual(expected);
  });

  it('lumps what is far behind, and still tells the maximum', () => {
    const staleness = createStaleness();
    staleness.add(formed(1, 0, [0, 1], [0, 1e9]));
    const { counts, max } = staleness.result();
    expect([counts.length, counts.at(-1), max]).toEqual([1001, 1, 1e9]);
  });

  it('adds repeats up', () => {
    const first = { counts: [1, 1], mean: 0.5, max: 1 };
    const second = { counts: [0, 0, 0, 2], mean: 3, max: 3 };
    expect(addStaleness([first, second])).toEqual({ counts: [1, 1, 0, 2], mean: 1.75, max: 3 });
    expect(addStaleness([])).toEqual({ counts: [], mean: 0, max: 0 });
  });
});

describe('createRunStructure', () => {
  it('gathers all three, of any prefix of a run', () => {
    const structure = createRunStructure();
    structure.add(started(0, 1));
    for (const event of iteration(0)) structure.add(event);
    const first = structure.result();
    for (const event of iteration(1)) structure.add(event);
    expect([first.meetings.groups, structure.result().meetings.groups]).toEqual([1, 2]);
    expect([first.staleness.counts, structure.result().staleness.counts]).toEqual([[2], [4]]);
    expect([first.timeline?.endMs, structure.result().timeline?.endMs]).toEqual([10, 20]);
  });
});
