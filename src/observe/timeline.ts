/**
 * A short window from the middle of a run, in full detail: what every worker did at each moment and which of them
 * formed a group. The end of a run is not known while it goes on, and keeping every interval would cost memory without
 * bound, so windows are captured from times that double (50 ms, 100 ms, 200 ms …) and the last two are kept: when the
 * run ends at E, one of them began between E/4 and E/2.
 */
import type { GroupId, WorkerId } from '../base/ids.js';
import { type ActivityInterval, createActivities } from './activities.js';
import type { RunEvent } from './run-events.js';

export interface TimelineGroup {
  readonly group: GroupId;
  readonly formedMs: number;
  readonly members: readonly WorkerId[];
  /** Ended without an average. */
  readonly aborted: boolean;
}

export interface Timeline {
  readonly startMs: number;
  readonly endMs: number;
  /** By worker, then time; none of length 0; cut to the window. */
  readonly intervals: readonly ActivityInterval[];
  /** Groups formed in the window. */
  readonly groups: readonly TimelineGroup[];
}

export interface TimelineBuilder {
  add(event: RunEvent): void;
  /** Null where no worker did anything. */
  result(): Timeline | null;
}

const FIRST_CAPTURE_MS = 50;
/** A window ends when its workers have taken this many steps together, kept between the bounds for each in the mean. */
const STEPS_WANTED = 96;
const STEPS_PER_WORKER_MIN = 6;
const STEPS_PER_WORKER_MAX = 12;
/** Enough for any picture; a run of thousands of workers has shorter windows. */
const STEPS_MAX = 5000;

function stepsOfWindow(workers: number): number {
  const each = Math.min(STEPS_PER_WORKER_MAX, Math.max(STEPS_PER_WORKER_MIN, STEPS_WANTED / workers));
  return Math.min(STEPS_MAX, each * workers);
}

interface Capture {
  readonly startMs: number;
  /** Null while it goes on. */
  endMs: number | null;
  steps: number;
  readonly intervals: ActivityInterval[];
  readonly groups: TimelineGroup[];
}

/** Creates a builder; feed it a run's events in order. Memory: two windows. */
export function createTimeline(): TimelineBuilder {
  let previous: Capture | null = null;
  let current: Capture | null = null;
  let nextMs = 0;
  let lastMs = 0;
  const captures = (): Capture[] =>
    [previous, current].filter((capture) => capture !== null && capture.endMs === null) as Capture[];
  const activities = createActivities((interval) => {
    for (const capture of captures()) keep(capture, interval);
  });

  function countStep(timeMs: number): void {
    const going = captures();
    if (going.length === 0) return;
    const open = activities.open(timeMs);
    for (const capture of going) {
      capture.steps += 1;
      if (capture.steps < stepsOfWindow(open.length)) continue;
      for (const interval of open) keep(capture, interval);
      capture.endMs = timeMs;
    }
  }

  function begin(timeMs: number): void {
    previous = current;
    current = { startMs: timeMs, endMs: null, steps: 0, intervals: [], groups: [] };
    nextMs = Math.max(FIRST_CAPTURE_MS, 2 * timeMs);
  }

  function add(event: RunEvent): void {
    lastMs = Math.max(lastMs, event.timeMs);
    if (event.type === 'started' || (current !== null && event.timeMs >= nextMs)) begin(event.timeMs);
    activities.add(event);
    switch (event.type) {
      case 'ready':
        return countStep(event.timeMs);
      case 'groupFormed': {
        const { group, members, timeMs } = event;
        for (const capture of captures()) capture.groups.push({ group, formedMs: timeMs, members, aborted: false });
        return;
      }
      case 'groupClosed':
        if (event.committed.length > 0) return;
        for (const { groups } of captures()) {
          const index = groups.findIndex(({ group }) => group === event.group);
          const found = groups[index];
          if (found !== undefined) groups[index] = { ...found, aborted: true };
        }
        return;
      default:
    }
  }

  function result(): Timeline | null {
    // The current one began after the middle of the run.
    const chosen = previous ?? current;
    if (chosen === null) return null;
    const endMs = chosen.endMs ?? lastMs;
    const intervals = [...chosen.intervals];
    if (chosen.endMs === null) {
      for (const interval of activities.open(endMs)) keep({ startMs: chosen.startMs, intervals }, interval);
    }
    if (intervals.length === 0) return null;
    intervals.sort((a, b) => a.worker - b.worker || a.startMs - b.startMs);
    return { startMs: chosen.startMs, endMs, intervals, groups: [...chosen.groups] };
  }

  return { add, result };
}

/** Adds the part of an interval that lies in the window, if any. */
function keep({ startMs, intervals }: Pick<Capture, 'startMs' | 'intervals'>, interval: ActivityInterval): void {
  const from = Math.max(startMs, interval.startMs);
  if (interval.endMs > from) intervals.push({ ...interval, startMs: from });
}
