/**
 * How often two workers were in one group that averaged, and how often they would have been had the members of each
 * group been drawn uniformly from the workers that were there. What a worker learns reaches another only through
 * groups: a pair that rarely meets, or workers that split into cliques, are seen here.
 */
import type { WorkerId } from '../base/ids.js';
import type { RunEvent } from './run-events.js';

export interface Meetings {
  /** Rows and columns, by worker number. */
  readonly workers: readonly WorkerId[];
  /** `met[i][j]`: groups that committed with both; symmetric, the diagonal is 0. */
  readonly met: readonly (readonly number[])[];
  /** The same, expected of uniform drawing. */
  readonly uniform: readonly (readonly number[])[];
  /** Groups that committed, and those of them that held every worker that was there. */
  readonly groups: number;
  readonly wholeGroups: number;
}

export interface MeetingsBuilder {
  add(event: RunEvent): void;
  result(): Meetings;
}

/** Pairs of workers with higher numbers are not counted: no page shows so many. */
const WORKERS_MAX = 64;

/** A time in which nobody came or went. */
interface Era {
  readonly present: ReadonlySet<WorkerId>;
  /** Sum of the chances of one pair to be drawn into each group. */
  expected: number;
}

/** Creates a builder; feed it a run's events in order. The final average is not counted: it holds everybody. */
export function createMeetings(): MeetingsBuilder {
  const counts = new Float64Array(WORKERS_MAX * WORKERS_MAX);
  const present = new Set<WorkerId>();
  const seen = new Set<WorkerId>();
  const eras: Era[] = [];
  let era: Era | null = null;
  let groups = 0;
  let wholeGroups = 0;

  function join(worker: WorkerId): void {
    if (present.has(worker)) return;
    present.add(worker);
    if (worker < WORKERS_MAX) seen.add(worker);
    era = null;
  }

  function leave(worker: WorkerId): void {
    if (present.delete(worker)) era = null;
  }

  function meet(members: readonly WorkerId[]): void {
    if (members.length === 0) return;
    // A member that is held to be dead at the end of its last group was there when the group was formed.
    const candidates = new Set([...present, ...members]).size;
    groups += 1;
    if (members.length === candidates) wholeGroups += 1;
    if (era === null) {
      era = { present: new Set(present), expected: 0 };
      eras.push(era);
    }
    if (candidates > 1) era.expected += (members.length * (members.length - 1)) / (candidates * (candidates - 1));
    const shown = members.filter((worker) => worker < WORKERS_MAX);
    for (const a of shown) {
      for (const b of shown) {
        if (a !== b) counts[a * WORKERS_MAX + b] = (counts[a * WORKERS_MAX + b] as number) + 1;
      }
    }
  }

  function add(event: RunEvent): void {
    switch (event.type) {
      case 'started':
        for (const worker of event.workers) join(worker);
        return;
      case 'workerSynced':
        return join(event.worker);
      case 'workerLeft':
      case 'workerDead':
        return leave(event.worker);
      case 'groupClosed':
        if (event.kind === 'step') meet(event.committed);
        return;
      default:
    }
  }

  function result(): Meetings {
    const workers = [...seen].sort((a, b) => a - b);
    const table = (valueOf: (a: WorkerId, b: WorkerId) => number): readonly (readonly number[])[] =>
      workers.map((a) => workers.map((b) => (a === b ? 0 : valueOf(a, b))));
    return {
      workers,
      met: table((a, b) => counts[a * WORKERS_MAX + b] as number),
      uniform: table((a, b) =>
        eras.reduce((sum, of) => (of.present.has(a) && of.present.has(b) ? sum + of.expected : sum), 0),
      ),
      groups,
      wholeGroups,
    };
  }

  return { add, result };
}
