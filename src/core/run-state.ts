/**
 * All that the state machine remembers of a run, and the few operations on it that every part needs.
 */
import { assertPresent } from '../base/assert.js';
import type { GroupId, WorkerId } from '../base/ids.js';
import type { CoreConfig } from './config.js';
import type { Effect } from './effects.js';
import type { CheckpointPart } from './events.js';
import type { Group, Lease, Progress } from './group.js';
import { createGroupFilter, type GroupFilter } from './grouping/group-filter.js';
import { createGroupPace, type GroupPace } from './grouping/group-pace.js';
import { createSignalQueue, type Signal, type SignalQueue } from './grouping/signal-queue.js';
import { createLedger, type Ledger } from './ledger.js';
import { isActive, type Member, type Phase } from './member.js';
import { createMixingHistory, type MixingHistory } from './mixing-history.js';
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
  /** Living workers, in ascending order of their numbers. */
  readonly members: Map<WorkerId, Member>;
  /** Last incarnation of every number ever given. */
  readonly incarnations: Map<WorkerId, number>;
  readonly openGroups: Map<GroupId, OpenGroup>;
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
  /** Ascending; null: to be found anew. */
  active: readonly WorkerId[] | null;
  /** As the filter was told last. */
  lastActive: readonly WorkerId[];
  effects: Effect[];
}

export function createRunState(config: CoreConfig): RunState {
  const { filter, groupSize, connectivityGroups, restored, evaluateEverySamples } = config;
  const progress = restored?.progress ?? { samples: 0, localSteps: 0 };
  const pace = createGroupPace(() => state);
  const groupsPerSlowestIteration = pace.perSlowestIteration;
  const state: RunState = {
    config,
    strategy: strategies[config.strategy],
    queue: createSignalQueue(),
    filter: createGroupFilter({ filter, groupSize, connectivityGroups, groupsPerSlowestIteration }),
    pace,
    ledger: config.ledger === null ? null : createLedger(config.ledger, restored?.ledger ?? null),
    history: createMixingHistory(),
    members: new Map(),
    incarnations: new Map(),
    openGroups: new Map(),
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
    active: null,
    lastActive: [],
    effects: [],
  };
  return state;
}

export function enter(state: RunState, member: Member, phase: Phase): void {
  member.phase = phase;
  member.phaseSinceMs = state.nowMs;
  state.active = null;
}

/** Active workers, ascending. When they changed the filter is told, since connectivity is about them. */
export function activeWorkers(state: RunState): readonly WorkerId[] {
  if (state.active !== null) return state.active;
  const active = [...state.members.values()].filter(isActive).map((member) => member.worker);
  const { lastActive } = state;
  const same = active.length === lastActive.length && active.every((worker, i) => worker === lastActive[i]);
  if (!same) state.filter.membersChanged(active);
  state.active = active;
  state.lastActive = active;
  return active;
}

/** Signals that may be grouped now, oldest first. A worker whose last group is still open must wait for its end. */
export function groupableSignals(state: RunState): readonly Signal[] {
  return state.queue.signals.filter((signal) => {
    const member = assertPresent(state.members.get(signal.worker), `worker ${signal.worker}`);
    return isActive(member) && member.openGroup === null;
  });
}

/** Puts the member's signal into the queue, at the place of its order. */
export function enqueue(state: RunState, member: Member, signal: Signal): void {
  member.signal = signal;
  enter(state, member, 'queued');
  state.queue.put(signal);
}
