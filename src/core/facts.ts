/**
 * The few facts of a run that outlive its controller (algorithms.md 3.3): who is in it, what has been done, who works on what. A
 * controller that is started again goes on from them, in a new term. All else is known again when the workers come back: each says
 * where it stands (returns.ts).
 */
import { workerId } from '../base/ids.js';
import type { LedgerFacts, Progress } from './group.js';
import { createMember, isSynced, type Member } from './member.js';
import { insert } from './membership.js';
import type { RunState } from './run-state.js';

/** One life, as of the moment that it was written down. */
export interface MemberFacts {
  readonly worker: number;
  readonly incarnation: number;
  readonly hostname: string | null;
  readonly synced: boolean;
  readonly counted: boolean;
  readonly finite: boolean;
  readonly leaving: boolean;
  readonly k: number;
  /** Of this life; what it did since, it will say itself. */
  readonly localSteps: number;
  readonly samples: number;
}

/** Plain data: what is written as JSON and read again is the same. */
export interface RunFacts {
  readonly term: number;
  readonly started: boolean;
  readonly finishReason: string | null;
  readonly ended: boolean;
  readonly progress: Progress;
  readonly groupCount: number;
  readonly checkpointCount: number;
  /** Last incarnation of every number ever given. */
  readonly incarnations: readonly (readonly [worker: number, incarnation: number])[];
  readonly members: readonly MemberFacts[];
  readonly ledger: LedgerFacts | null;
}

/** What a controller that is started again begins with. */
export interface Continuation {
  readonly facts: RunFacts;
  /** When it begins, on the clock of its events. */
  readonly nowMs: number;
}

export function factsOf(state: RunState): RunFacts {
  const { config, started, finishReason, ended, progress, groupCount, checkpointCount, incarnations } = state;
  return {
    term: config.term,
    started,
    finishReason,
    ended,
    progress,
    groupCount,
    checkpointCount,
    incarnations: [...incarnations].toSorted(([a], [b]) => a - b),
    members: [...state.members.values()].map(memberFacts),
    ledger: state.ledger?.exportFacts() ?? null,
  };
}

function memberFacts(member: Member): MemberFacts {
  const { worker, incarnation, hostname, counted, finite, leaving, k, localSteps, samples } = member;
  const synced = isSynced(member);
  return { worker, incarnation, hostname, synced, counted, finite, leaving, k, localSteps, samples };
}

/** Everybody is a suspect until it comes back; whoever works on a lease keeps it as long. */
export function restoreFacts(state: RunState, { facts, nowMs }: Continuation): void {
  Object.assign(state, {
    nowMs,
    started: facts.started,
    finishReason: facts.finishReason,
    ended: facts.ended,
    groupCount: facts.groupCount,
    checkpointCount: facts.checkpointCount,
    checkpointedAt: { samples: facts.progress.samples, timeMs: nowMs },
  });
  for (const [worker, incarnation] of facts.incarnations) state.incarnations.set(workerId(worker), incarnation);
  for (const each of facts.members) insert(state, restoredMember(state, each));
}

function restoredMember({ nowMs, started, groupCount }: RunState, facts: MemberFacts): Member {
  const { worker, incarnation, hostname, synced, counted, finite, leaving, k, localSteps, samples } = facts;
  const member = createMember(workerId(worker), incarnation, nowMs, { hostname, shortLives: 0 });
  return Object.assign(member, {
    phase: synced ? (started ? 'computing' : 'waiting') : 'joining',
    returning: true,
    silent: true,
    suspectSinceMs: nowMs,
    suspectSinceGroup: groupCount,
    counted,
    finite,
    leaving,
    k,
    localSteps,
    samples,
  } as const);
}

/** Has the facts written down, before anything else of this event is done, where those changed that matter. */
export function persistChanges(state: RunState): void {
  const { config, ledger, membershipVersion, started, finishReason, ended, checkpointCount } = state;
  if (!config.persists) return;
  const version = [ledger?.version, membershipVersion, started, finishReason, ended, checkpointCount].join(' ');
  if (version === state.factsVersion) return;
  state.factsVersion = version;
  state.effects.unshift({ type: 'persist', facts: factsOf(state) });
}
