/**
 * All that the state machine remembers of a run, and the few operations on it that every part needs.
 */
import type { GroupId, WorkerId } from '../base/ids.js';
import type { CoreConfig } from './config.js';
import type { HeldJoin, ShortLife } from './cool-down.js';
import type { Effect } from './effects.js';
import type { CheckpointPart } from './events.js';
import type { RunFacts } from './facts.js';
import type { Group, Lease, Progress } from './group.js';
import { createGroupFilter, type GroupFilter } from './grouping/group-filter.js';
import { createGroupPace, type GroupPace } from './grouping/group-pace.js';
import { createSignalQueue, type Signal, type SignalQueue } from './grouping/signal-queue.js';
import { createLedger, type Ledger } from './ledger.js';
import { isActive, iterationMedianMs, type Member, type Phase } from './member.js';
import { createMixingHistory, type MixingHistory } from './mixing-history.js';
import { createPullBook, type PullBook } from './pull-book.js';
import { createRoster, type Roster } from './roster.js';
import { strategies } from './strategies/strategies.js';
import type { Strategy } from './strategies/strategy.js';

/** A group that some member has not reported about. */
export interface OpenGroup {
  readonly group: Group;
  readonly pending: Set<WorkerId>;
  readonly committed: Set<WorkerId>;
  aborted: boolean;
}

/** A checkpoint that is being collected. */
export interface Collection {
  readonly number: number;
  /** Who has not answered. */
  readonly pending: Set<WorkerId>;
  readonly parts: CheckpointPart[];
  /** Leases finished by those who had answered: their replicas in the checkpoint do not contain the end of them. */
  readonly unfinished: Lease[];
  /** What those who had answered did since: not in the checkpoint. */
  later: Progress;
}

/** A full queue that waits for connectivity. */
export interface Hold {
  readonly sinceMs: number;
}

/** Why a run has no model to hand over, as its reason to end says. */
export const NOTHING_FINITE = 'no live replica is finite';

export interface RunState {
  readonly config: CoreConfig;
  readonly strategy: Strategy;
  readonly queue: SignalQueue;
  readonly filter: GroupFilter;
  readonly pace: GroupPace;
  readonly ledger: Ledger | null;
  readonly history: MixingHistory;
  /** Grows with every change of who is in the run, and holds the model. */
  membershipVersion: number;
  /** Of what was written down last; null: nothing yet. */
  factsVersion: string | null;
  /** Living workers, in ascending order of their numbers. */
  readonly members: Map<WorkerId, Member>;
  /** The members again, by what they do. */
  readonly roster: Roster;
  /** Last incarnation of every number ever given. */
  readonly incarnations: Map<WorkerId, number>;
  /** No number below this one is free. */
  nextNumber: number;
  readonly openGroups: Map<GroupId, OpenGroup>;
  /** Open groups of which something has changed: they may be over. */
  readonly changedGroups: Set<GroupId>;
  /** Open groups that were given up, and when: all their members owe a report. */
  readonly abortedSinceMs: Map<GroupId, number>;
  /** Members whose signals are not grouped for a while. */
  readonly resting: Set<Member>;
  /** Of effect only where the strategy uses servers. */
  readonly pulls: PullBook;
  /** Whether the servers hold the parameters. */
  serversReady: boolean;
  /** Short lives that nobody has followed, oldest first, and who waits since it does. */
  shortLives: ShortLife[];
  heldJoins: HeldJoin[];
  /** Fewer workers are there than the run shall have. */
  paused: boolean;
  nowMs: number;
  started: boolean;
  /** Null: no end in sight; else why no further step shall be taken. */
  finishReason: string | null;
  ended: boolean;
  progress: Progress;
  signalCount: number;
  groupCount: number;
  /** Rounds of gradients closed in a row of which none was finite. */
  roundsNotFinite: number;
  hold: Hold | null;
  holdMs: number;
  holdsExpired: number;
  /** Why the queue waits, for people. */
  waitReason: string | null;
  evaluationMark: number;
  collection: Collection | null;
  /** Number of the last checkpoint that was asked for. */
  checkpointCount: number;
  /** Progress at which, and time when, the last one was asked for. */
  checkpointedAt: { readonly samples: number; readonly timeMs: number };
  /** Ascending, as the filter was told last. */
  active: readonly WorkerId[];
  /** Versions of the roster that `active`, and rho's workers, are of. */
  activeVersion: number;
  countedVersion: number;
  /** Longest median iteration of an active worker, in ms; null: to be found anew. */
  slowestMs: number | null;
  effects: Effect[];
}

/** `facts`: those that an earlier controller of the run has left; its members are for the caller to restore. */
export function createRunState(config: CoreConfig, facts: RunFacts | null = null): RunState {
  const { filter, groupSize, connectivityGroups, restored, evaluateEverySamples } = config;
  const progress = facts?.progress ?? restored?.progress ?? { samples: 0, localSteps: 0 };
  const pace = createGroupPace(() => state);
  const groupsPerSlowestIteration = pace.perSlowestIteration;
  const roster = createRoster();
  const state: RunState = {
    config,
    strategy: strategies[config.strategy],
    queue: createSignalQueue(),
    filter: createGroupFilter({ filter, groupSize, connectivityGroups, groupsPerSlowestIteration }),
    pace,
    ledger: config.ledger === null ? null : createLedger(config.ledger, facts?.ledger ?? restored?.ledger ?? null),
    history: createMixingHistory(),
    membershipVersion: 0,
    factsVersion: null,
    members: new Map(),
    roster,
    incarnations: new Map(),
    nextNumber: 0,
    openGroups: new Map(),
    changedGroups: new Set(),
    abortedSinceMs: new Map(),
    resting: new Set(),
    pulls: createPullBook(roster),
    serversReady: false,
    shortLives: [],
    heldJoins: [],
    paused: false,
    nowMs: 0,
    started: false,
    finishReason: null,
    ended: false,
    progress,
    signalCount: 0,
    groupCount: 0,
    roundsNotFinite: 0,
    hold: null,
    holdMs: 0,
    holdsExpired: 0,
    waitReason: null,
    evaluationMark: evaluateEverySamples === null ? 0 : Math.floor(progress.samples / evaluateEverySamples),
    collection: null,
    checkpointCount: restored?.checkpoint ?? 0,
    checkpointedAt: { samples: progress.samples, timeMs: 0 },
    active: [],
    activeVersion: 0,
    countedVersion: 0,
    slowestMs: null,
    effects: [],
  };
  return state;
}

export function enter(state: RunState, member: Member, phase: Phase): void {
  member.phase = phase;
  member.phaseSinceMs = state.nowMs;
  state.roster.update(member);
}

/** Active workers, ascending. When they changed the filter is told, since connectivity is about them. */
export function activeWorkers(state: RunState): readonly WorkerId[] {
  const { roster, active: before } = state;
  const version = roster.version('active');
  if (version === state.activeVersion) return before;
  const active = roster.list('active').map((member) => member.worker);
  const same = active.length === before.length && active.every((worker, i) => worker === before[i]);
  if (!same) state.filter.membersChanged(active);
  state.active = active;
  state.activeVersion = version;
  state.slowestMs = null;
  return active;
}

/** Longest median iteration of an active worker, in ms; 0 before any has taken a step. */
export function slowestIterationMs(state: RunState): number {
  const active = activeWorkers(state);
  state.slowestMs ??= active.reduce((slowest, worker) => {
    const member = state.members.get(worker);
    return Math.max(slowest, member === undefined ? 0 : (iterationMedianMs(member) ?? 0));
  }, 0);
  return state.slowestMs;
}

/** To be called when a worker's median has changed: only where the slowest one's falls the slowest is to be found anew. */
export function noteMedian(state: RunState, member: Member, beforeMs: number | null): void {
  const { slowestMs } = state;
  // Who is not active does not count, and who becomes active makes everything new.
  if (slowestMs === null || !isActive(member)) return;
  const afterMs = iterationMedianMs(member) ?? 0;
  if (afterMs >= slowestMs) state.slowestMs = afterMs;
  else if ((beforeMs ?? 0) >= slowestMs) state.slowestMs = null;
}

/** Puts the member's signal into the queue, at the place of its order. */
export function enqueue(state: RunState, member: Member, signal: Signal): void {
  member.signal = signal;
  enter(state, member, 'queued');
  state.queue.put(signal);
}
