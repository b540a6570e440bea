/**
 * Where each worker's time went: computing (emulated padding, data and everything between two exchanges included),
 * waiting for a group, or in a collective. Told by the controller's clock alone, so that the parts add up to the whole.
 */
import type { WorkerId } from '../base/ids.js';
import type { RunEvent } from './run-events.js';

/** One worker's time in a run, in ms. */
export interface WorkerTime {
  readonly worker: WorkerId;
  readonly steps: number;
  readonly samples: number;
  readonly computeMs: number;
  /** READY to GROUP, and at the end from its last step to the final average. */
  readonly waitMs: number;
  readonly reduceMs: number;
}

type Activity = 'computeMs' | 'waitMs' | 'reduceMs';

interface Track {
  readonly worker: WorkerId;
  steps: number;
  samples: number;
  computeMs: number;
  waitMs: number;
  reduceMs: number;
  /** Null while it takes no part: not joined, left, dead, or the run is over. */
  activity: Activity | null;
  sinceMs: number;
}

export interface WorkerTimes {
  add(event: RunEvent): void;
  /** By worker number; workers that never took a part are left out. */
  result(): readonly WorkerTime[];
}

type Formed = Extract<RunEvent, { type: 'groupFormed' }>;

/** Creates the accounts; feed it a run's events in order. */
export function createWorkerTimes(): WorkerTimes {
  const tracks = new Map<WorkerId, Track>();
  const openGroups = new Map<number, Formed>();
  let running = false;

  function trackOf(worker: WorkerId): Track {
    let track = tracks.get(worker);
    if (track === undefined) {
      track = { worker, steps: 0, samples: 0, computeMs: 0, waitMs: 0, reduceMs: 0, activity: null, sinceMs: 0 };
      tracks.set(worker, track);
    }
    return track;
  }

  function turn(worker: WorkerId, activity: Activity | null, timeMs: number): void {
    const track = trackOf(worker);
    if (track.activity !== null) track[track.activity] += timeMs - track.sinceMs;
    track.activity = activity;
    track.sinceMs = timeMs;
  }

  function onGroupClosed(event: Extract<RunEvent, { type: 'groupClosed' }>): void {
    const members = openGroups.get(event.group)?.members ?? [];
    openGroups.delete(event.group);
    for (const worker of members) {
      // The signals of those who did not commit are back in the queue, unless they are gone.
      if (!event.committed.includes(worker) && trackOf(worker).activity === 'reduceMs')
        turn(worker, 'waitMs', event.timeMs);
    }
  }

  function add(event: RunEvent): void {
    const { timeMs } = event;
    switch (event.type) {
      case 'started':
        running = true;
        for (const worker of event.workers) turn(worker, 'computeMs', timeMs);
        return;
      case 'workerSynced':
        if (running) turn(event.worker, 'computeMs', timeMs);
        return;
      case 'ready': {
        turn(event.worker, 'waitMs', timeMs);
        const track = trackOf(event.worker);
        track.steps += 1;
        track.samples += event.samples;
        return;
      }
      case 'groupFormed':
        openGroups.set(event.group, event);
        for (const worker of event.members) turn(worker, 'reduceMs', timeMs);
        return;
      case 'reduced': {
        const isFinal = openGroups.get(event.group)?.kind === 'final';
        return turn(event.worker, isFinal ? null : 'computeMs', timeMs);
      }
      case 'released':
        return turn(event.worker, 'computeMs', timeMs);
      case 'groupClosed':
        return onGroupClosed(event);
      case 'workerFinished':
        return turn(event.worker, 'waitMs', timeMs);
      case 'workerLeft':
      case 'workerDead':
        return turn(event.worker, null, timeMs);
      case 'runEnded':
        running = false;
        for (const worker of tracks.keys()) turn(worker, null, timeMs);
        return;
      default:
    }
  }

  return {
    add,
    result: () =>
      [...tracks.values()]
        .filter((track) => track.computeMs + track.waitMs + track.reduceMs > 0)
        .sort((a, b) => a.worker - b.worker)
        .map(({ activity: _activity, sinceMs: _sinceMs, ...time }) => time),
  };
}
