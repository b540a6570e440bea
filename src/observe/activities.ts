/**
 * What each worker does at each moment: computing (emulated padding, data and everything between two exchanges
 * included), waiting for a group, or in a collective. A state machine over a run's events, told by the controller's
 * clock alone, so that a worker's intervals meet without gap or overlap.
 */
import type { WorkerId } from '../base/ids.js';
import type { RunEvent } from './run-events.js';

export type Activity = 'compute' | 'wait' | 'reduce';

export interface ActivityInterval {
  readonly worker: WorkerId;
  readonly activity: Activity;
  readonly startMs: number;
  /** Never before `startMs`; may be the same. */
  readonly endMs: number;
}

export interface Activities {
  /** Calls `onInterval` with what the event ends. */
  add(event: RunEvent): void;
  /** What goes on, as if it ended at `timeMs`; by worker number. */
  open(timeMs: number): readonly ActivityInterval[];
}

interface Ongoing {
  readonly activity: Activity;
  readonly sinceMs: number;
}

type Formed = Extract<RunEvent, { type: 'groupFormed' }>;
type Closed = Extract<RunEvent, { type: 'groupClosed' }>;

interface Open {
  readonly formed: Formed;
  readonly passive: ReadonlySet<WorkerId>;
}

/** Creates the state machine; feed it a run's events in order. A worker that takes no part has no interval. */
export function createActivities(onInterval: (interval: ActivityInterval) => void): Activities {
  const ongoing = new Map<WorkerId, Ongoing>();
  const openGroups = new Map<number, Open>();
  /** Workers whose READY waits for a group. */
  const awaiting = new Set<WorkerId>();
  let running = false;

  /** `activity` null: it takes no part any more (left, dead, or the run is over). */
  function turn(worker: WorkerId, activity: Activity | null, timeMs: number): void {
    const before = ongoing.get(worker);
    if (before !== undefined) onInterval({ worker, activity: before.activity, startMs: before.sinceMs, endMs: timeMs });
    if (activity === null) ongoing.delete(worker);
    else ongoing.set(worker, { activity, sinceMs: timeMs });
  }

  function onGroupClosed(event: Closed): void {
    const members = openGroups.get(event.group)?.formed.members ?? [];
    openGroups.delete(event.group);
    const committed = new Set(event.committed);
    for (const worker of members) {
      // The signals of those who did not commit are back in the queue, unless they are gone.
      if (!committed.has(worker) && ongoing.get(worker)?.activity === 'reduce') turn(worker, 'wait', event.timeMs);
    }
  }

  function add(event: RunEvent): void {
    const { timeMs } = event;
    switch (event.type) {
      case 'started':
        running = true;
        for (const worker of event.workers) turn(worker, 'compute', timeMs);
        return;
      case 'workerSynced':
        if (running) turn(event.worker, 'compute', timeMs);
        return;
      case 'ready':
        awaiting.add(event.worker);
        return turn(event.worker, 'wait', timeMs);
      case 'workerFinished':
        return turn(event.worker, 'wait', timeMs);
      case 'groupFormed': {
        const passive = new Set(event.passive);
        openGroups.set(event.group, { formed: event, passive });
        for (const worker of event.members) if (!passive.has(worker)) turn(worker, 'reduce', timeMs);
        return;
      }
      case 'reduced': {
        const group = openGroups.get(event.group);
        // It computed, or rested, all the while.
        if (group?.passive.has(event.worker) === true && !awaiting.has(event.worker)) return;
        awaiting.delete(event.worker);
        return turn(event.worker, group?.formed.kind === 'final' ? null : 'compute', timeMs);
      }
      case 'released':
      case 'wentOn':
        awaiting.delete(event.worker);
        return turn(event.worker, 'compute', timeMs);
      case 'groupClosed':
        return onGroupClosed(event);
      case 'workerLeft':
      case 'workerDead':
        return turn(event.worker, null, timeMs);
      case 'runEnded':
        running = false;
        for (const worker of ongoing.keys()) turn(worker, null, timeMs);
        return;
      default:
    }
  }

  return {
    add,
    open: (timeMs) =>
      [...ongoing]
        .map(([worker, { activity, sinceMs }]) => ({ worker, activity, startMs: sinceMs, endMs: timeMs }))
        .sort((a, b) => a.worker - b.worker),
  };
}
