/**
 * What the record of a real run tells about time: each worker's iterations, the groups' collectives, the way to the controller.
 * All of it is read off the controller's clock alone. An iteration lasts from the moment when the worker's DONE came to that of
 * its next READY: gradient, emulated padding, data, copies and leases included; the way of one message cancels that of the other.
 */
import type { WorkerId } from '../base/ids.js';
import { createActivities } from '../observe/activities.js';
import { median } from '../observe/median.js';
import type { RunEvent } from '../observe/run-events.js';
import type { Trace } from './compute-model.js';

/** Collectives of one number of members. */
export interface RecordedCollectives {
  /** Members that reported. */
  readonly count: number;
  /** Mean time from GROUP to DONE, both messages left out. */
  readonly meanMs: number;
}

export interface RecordedTimes {
  /** Lengths of each worker's local steps, in their order. */
  readonly trace: Trace;
  /** Of the groups that averaged steps, by their number of members. */
  readonly collectives: ReadonlyMap<number, RecordedCollectives>;
  /** Half of what a group's turnaround takes beside its collective, in ms. */
  readonly controlLatencyMs: number;
  /** What a collective averages; 0 where none took place. */
  readonly modelBytes: number;
  /** Workers that joined late, left or died: a replay has no place for them. */
  readonly faults: readonly string[];
}

export interface RecordedTimesBuilder {
  add(event: RunEvent): void;
  result(): RecordedTimes;
}

interface Iteration {
  readonly worker: WorkerId;
  readonly steps: number;
  readonly lengthMs: number;
  /** Ways between worker and controller that are part of the length. */
  readonly messages: number;
}

interface OpenGroup {
  readonly formedMs: number;
  readonly members: number;
  bytesSent: number;
}

/** A step takes some time, whatever the clock's resolution. */
const STEP_MS_MIN = 1e-6;

/** Creates a builder; feed it a run's events in order. Its memory grows with the number of steps. */
export function createRecordedTimes(): RecordedTimesBuilder {
  const iterations: Iteration[] = [];
  const faults: string[] = [];
  const groups = new Map<number, OpenGroup>();
  const turnarounds = new Map<number, { count: number; sumMs: number }>();
  /** Of turnarounds: what is not the collective. */
  const outsideMs: number[] = [];
  /** Messages in the iteration that each worker is in. */
  const messages = new Map<WorkerId, number>();
  let readyOf: { readonly worker: WorkerId; readonly steps: number } | null = null;
  let modelBytes = 0;
  let isRunning = false;
  const activities = createActivities(({ worker, activity, startMs, endMs }) => {
    if (activity !== 'compute' || readyOf?.worker !== worker) return;
    iterations.push({ ...readyOf, lengthMs: endMs - startMs, messages: messages.get(worker) ?? 0 });
  });

  function takeReduced(event: Extract<RunEvent, { type: 'reduced' }>): void {
    const group = groups.get(event.group);
    messages.set(event.worker, 0);
    if (group === undefined) return;
    const turnaroundMs = event.timeMs - group.formedMs;
    const sums = turnarounds.get(group.members) ?? { count: 0, sumMs: 0 };
    turnarounds.set(group.members, { count: sums.count + 1, sumMs: sums.sumMs + turnaroundMs });
    outsideMs.push(Math.max(0, turnaroundMs - event.reduceMs));
    group.bytesSent += event.bytesSent;
  }

  function takeClosed({ group: id, committed }: Extract<RunEvent, { type: 'groupClosed' }>): void {
    const group = groups.get(id);
    groups.delete(id);
    if (group === undefined || group.members < 2 || committed.length < group.members) return;
    // Each plan sends 2 (n - 1) / n of the vector from each of n members, in the mean.
    modelBytes = Math.max(modelBytes, Math.round(group.bytesSent / (2 * (group.members - 1))));
  }

  function add(event: RunEvent): void {
    readyOf = event.type === 'ready' ? { worker: event.worker, steps: event.steps ?? 1 } : null;
    activities.add(event);
    switch (event.type) {
      case 'started':
        isRunning = true;
        for (const worker of event.workers) messages.set(worker, 2);
        return;
      case 'workerSynced':
        if (isRunning) faults.push(`worker ${event.worker} joined it late`);
        return;
      case 'workerDead':
      case 'workerLeft':
        if (isRunning) faults.push(`worker ${event.worker} ${event.type === 'workerDead' ? 'died' : 'left it'}`);
        return;
      case 'resumed':
        faults.push(`it went on from checkpoint ${event.checkpoint}`);
        return;
      case 'released':
        messages.set(event.worker, 2);
        return;
      case 'wentOn':
        messages.set(event.worker, 0);
        return;
      case 'groupFormed':
        if (event.kind !== 'step') return;
        groups.set(event.group, { formedMs: event.timeMs, members: event.members.length, bytesSent: 0 });
        return;
      case 'reduced':
        return takeReduced(event);
      case 'groupClosed':
        return takeClosed(event);
      case 'runEnded':
        isRunning = false;
        return;
      default:
    }
  }

  function result(): RecordedTimes {
    const controlLatencyMs = outsideMs.length === 0 ? 0 : median(outsideMs) / 2;
    const byWorker = new Map<number, number[]>();
    for (const { worker, steps, lengthMs, messages: ways } of iterations) {
      const times = byWorker.get(worker) ?? [];
      byWorker.set(worker, times);
      const stepMs = Math.max(STEP_MS_MIN, (lengthMs - ways * controlLatencyMs) / steps);
      for (let step = 0; step < steps; step += 1) times.push(stepMs);
    }
    const collectives = new Map<number, RecordedCollectives>();
    for (const [members, { count, sumMs }] of turnarounds) {
      collectives.set(members, { count, meanMs: Math.max(0, sumMs / count - 2 * controlLatencyMs) });
    }
    return { trace: { anybody: [], byWorker }, collectives, controlLatencyMs, modelBytes, faults };
  }

  return { add, result };
}
