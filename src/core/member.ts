/**
 * One life of one worker, as the controller knows it.
 */
import type { GroupId, WorkerId } from '../base/ids.js';
import type { Group } from './group.js';
import type { Signal } from './grouping/signal-queue.js';

/**
 * What a worker is doing.
 * joining: waits for a donor. syncing: fetches the model (or makes it, as the run's first). waiting: holds it, the run has not
 * started. computing: takes a local step. queued: READY. grouped: in a collective. idle: waits for a lease. finished: takes no
 * further step, its replica rests for the final average.
 */
export type Phase = 'joining' | 'syncing' | 'waiting' | 'computing' | 'queued' | 'grouped' | 'idle' | 'finished';

export interface Member {
  readonly worker: WorkerId;
  readonly incarnation: number;
  phase: Phase;
  k: number;
  localSteps: number;
  samples: number;
  /** Samples of its steps since its last group: what its vector brings to the next one. */
  samplesSinceGroup: number;
  /** Whether its replica is finite, as of its last READY or average. A gradient that is not leaves the replica as it was. */
  finite: boolean;
  /** Counts as active: from the start of the run, or from a joiner's first READY. */
  counted: boolean;
  /** Null: not suspect. */
  suspectSinceMs: number | null;
  /** Known from the controller's life before: it has not come back yet. */
  returning: boolean;
  /** It held a group up: only its own report ends the suspicion. */
  mustAnswer: boolean;
  /** Nothing is heard of it: its connection is closed, or heartbeats are missing. An answer that was under way does not change that. */
  silent: boolean;
  /** Groups running that stalled between it and another. */
  stalls: number;
  /** Step groups running that were aborted with it. */
  setbacks: number;
  /** Its signal is not grouped before; null: it does not rest. */
  restsUntilMs: number | null;
  /** How many groups there had been when it became suspect. */
  suspectSinceGroup: number;
  leaving: boolean;
  /** Who hands it the model, while it is syncing; null: nobody, it is the run's first. */
  donor: WorkerId | null;
  /** Donors that could not. */
  readonly failedDonors: Set<WorkerId>;
  transferFailures: number;
  /** Its signal: in the queue, or in the group that it is in. */
  signal: Signal | null;
  /** The group whose outcome it has not reported. */
  group: Group | null;
  /** The group with it that is still open: even when it is done itself, the others may not be. */
  openGroup: GroupId | null;
  phaseSinceMs: number;
  /** The machine that it is on, as it says. */
  readonly hostname: string | null;
  readonly joinedMs: number;
  /** Short lives in a row that this one follows. */
  readonly shortLives: number;
  /** Lengths of its last iterations, in ms, newest last. */
  readonly iterationsMs: number[];
  /** Their median; null without any. */
  medianMs: number | null;
}

const ITERATIONS_KEPT = 15;

export function createMember(
  worker: WorkerId,
  incarnation: number,
  nowMs: number,
  { hostname, shortLives }: Pick<Member, 'hostname' | 'shortLives'> = { hostname: null, shortLives: 0 },
): Member {
  return {
    worker,
    incarnation,
    hostname,
    shortLives,
    joinedMs: nowMs,
    phase: 'joining',
    k: 0,
    localSteps: 0,
    samples: 0,
    samplesSinceGroup: 0,
    finite: true,
    counted: false,
    suspectSinceMs: null,
    suspectSinceGroup: 0,
    returning: false,
    mustAnswer: false,
    silent: false,
    stalls: 0,
    setbacks: 0,
    restsUntilMs: null,
    leaving: false,
    donor: null,
    failedDonors: new Set(),
    transferFailures: 0,
    signal: null,
    group: null,
    openGroup: null,
    phaseSinceMs: nowMs,
    iterationsMs: [],
    medianMs: null,
  };
}

/** May still come to the queue, or is in it: who groups can wait for. */
export function isActive(member: Member): boolean {
  const { phase, counted, suspectSinceMs, leaving } = member;
  const working = phase === 'computing' || phase === 'queued' || phase === 'grouped';
  return working && counted && suspectSinceMs === null && !leaving;
}

/** Holds the run's model. */
export function isSynced(member: Member): boolean {
  return member.phase !== 'joining' && member.phase !== 'syncing';
}

export function recordIteration(member: Member, milliseconds: number): void {
  member.iterationsMs.push(milliseconds);
  if (member.iterationsMs.length > ITERATIONS_KEPT) member.iterationsMs.shift();
  const sorted = member.iterationsMs.toSorted((a, b) => a - b);
  member.medianMs = sorted[Math.floor(sorted.length / 2)] ?? null;
}

/** Median of its last iterations, in ms; null before the first. */
export function iterationMedianMs(member: Member): number | null {
  return member.medianMs;
}
