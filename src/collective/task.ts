/**
 * What one member is asked to do in one collective, and what it reports.
 */
import type { GroupId } from '../base/ids.js';
import type { Address, Peer } from '../wire/messages.js';
import type { ReduceKernel } from './kernel/reduce-kernel.js';
import type { Plan, PlanName } from './plan/plan.js';

/** One collective, seen from one of its members. */
export interface CollectiveTask {
  readonly group: GroupId;
  /** The plan that all members agree on. Or one that does not follow from the members alone: this member's part of it. */
  readonly collective: PlanName | Plan;
  /** Bounds members that are far from the others (clip.ts); the direct plan only. Default false. */
  readonly clips?: boolean;
  /** Called with a sum once it is whole, before anybody gets it: may overwrite it. Default: it is sent as it is. */
  readonly apply?: (sum: Float32Array) => void;
  /** All members, this one too, in the order that all members agree on. */
  readonly members: readonly Peer[];
  /** Position of this member in `members`. */
  readonly rank: number;
  /** One weight a member, sum 1; a member of weight 0 is skipped in the sum (its values may be NaN). */
  readonly weights: readonly number[];
  /** This member's vector; only read, and unchanged whatever happens. Not to be written to until the task settles. */
  readonly input: Float32Array;
  /** Receives sum over j of weights[j] * input_j, bit-identical on every member; undefined content unless the task resolves. */
  readonly output: Float32Array;
  /** Where the others' slices arrive: at least `scratchLength(input.length, members.length)` values. Default: made for the task. */
  readonly scratch?: Float32Array;
  /** Fires to give the collective up; the promise then rejects with `aborted`. */
  readonly signal: AbortSignal;
}

export interface CollectiveResult {
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** Ranks of the members that were bounded; empty unless the task clips. */
  readonly clipped: readonly number[];
}

/** A replica as a donor serves it. */
export interface ReplicaState {
  readonly k: number;
  /** Owned by the caller of `serve`'s provider until the transfer copies it, which it does at once. */
  readonly values: Float32Array;
}

/** Who this process is to its peers: known once the controller has answered. */
export type Identity =
  | { readonly role: 'worker'; readonly worker: number; readonly incarnation: number; readonly runKey: string }
  /** Fetches replicas, takes part in no collective. */
  | { readonly role: 'evaluator'; readonly runKey: string };

/** The data plane of one worker. */
export interface Communicator {
  /** Where it is reached: the host as given, the bound data port, and the local socket where there is one. */
  readonly address: Address;
  /** To be called before the first `reduce` or `fetchState`; may be called again with the same values. */
  setIdentity(identity: Identity): void;
  /**
   * Runs one collective to its end: resolves when `output` is whole *and* every segment that this member owes has been
   * acknowledged. Rejects with `aborted` (signal), `connection-lost` (a peer cannot be reached or is gone) or `timeout` (a
   * peer is there and moves nothing); details of the latter two hold `worker`. Only one at a time.
   */
  reduce(task: CollectiveTask): Promise<CollectiveResult>;
  /** Frames of this group will never be wanted again: drop those that came early, and those still to come. */
  discard(group: GroupId): void;
  /**
   * Fetches the replica of `peer` into `into`. Returns the donor's k. Rejects with `connection-lost`, `aborted`, or
   * `refused` when the donor holds none.
   */
  fetchState(
    peer: Peer,
    into: Float32Array,
    options: { readonly signal: AbortSignal },
  ): Promise<{ readonly k: number }>;
  /** Closes the port and every connection. */
  close(): Promise<void>;
}

export interface CommunicatorOptions {
  /** Address to listen at; port 0 takes a free one. */
  readonly listen: Address;
  /** Default LIMITS.segmentBytes. */
  readonly segmentBytes?: number;
  /**
   * How long a peer may owe something and move nothing, in ms; up to twice that late in the collective, and more where
   * longer pauses turned out well. Default: for ever.
   */
  readonly stallMs?: number;
  /** Sums the slices. Default: the plain one. */
  readonly kernel?: ReduceKernel;
  /** The replica to hand to whoever asks, null while there is none. Called for each request; its values are copied at once. */
  readonly serve: () => ReplicaState | null;
}
