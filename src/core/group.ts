/**
 * A formed group, as the broadcaster sends it to its members (algorithms.md 2, step 4).
 */
import type { GroupId, WorkerId } from '../base/ids.js';
import type { CollectiveName } from './config.js';

/** What a group averages: `step` during training, `final` for the model that is handed over at the end. */
export type GroupKind = 'step' | 'final';

export interface GroupMember {
  readonly worker: WorkerId;
  readonly incarnation: number;
  /** The member's k when it was grouped. */
  readonly k: number;
  /** Its weight; the weights of a group sum to 1 (except where servers apply them), a member with a non-finite value has 0 and is skipped in the sum. */
  readonly weight: number;
  /** It goes on with what it does, and its comm thread takes part. Left out: false. */
  readonly passive?: boolean;
}

export interface Group {
  readonly id: GroupId;
  readonly kind: GroupKind;
  readonly collective: CollectiveName;
  /** Members that are far from the others are bounded. Left out: false. */
  readonly clips?: boolean;
  /** In the order of their READY signals; sums run in this order. At least two, except a `final` group of one and those of servers. */
  readonly members: readonly GroupMember[];
  /** k of the freshest member; every member continues from it. */
  readonly kMax: number;
  /** Whether some member's vector was finite, and so the average is. */
  readonly finite: boolean;
}

/** Global progress, which learning-rate schedules are functions of. */
export interface Progress {
  /** Samples processed by all workers (dead ones' lost work included). */
  readonly samples: number;
  /** Local steps taken by all workers. */
  readonly localSteps: number;
}

/** A stretch of one epoch's permutation: positions [start, start + count). */
export interface Lease {
  readonly id: number;
  readonly epoch: number;
  readonly start: number;
  readonly count: number;
}

/** All that a ledger has to remember: data, for checkpoints. */
export interface LedgerState {
  /** Id, epoch and position of the next lease that nobody ever held. */
  readonly nextId: number;
  readonly epoch: number;
  readonly start: number;
  /** Leases that were given out and are not finished, ascending by id; of one that was begun only the rest. */
  readonly open: readonly Lease[];
}

/** A ledger's state, and whose the leases are that somebody works on: those are not among the open ones. */
export interface LedgerFacts extends LedgerState {
  readonly held: readonly { readonly worker: number; readonly lease: Lease }[];
}
