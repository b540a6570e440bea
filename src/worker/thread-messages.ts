/**
 * What the training thread and the comm thread of one worker tell each other. Vectors never travel in messages: they
 * lie in memory that both threads see, and a message hands over the right to write to them.
 *
 * Who may write what: between a commit (or the start) and `ready` the training thread owns `input` and the state slot
 * that was not announced last; from `ready` to the answer the comm thread owns `input` and `output`. So the comm
 * thread always has a whole replica to serve to joiners, `output` while the training thread fills `input`, and `input` while
 * a collective fills `output`.
 */
import type { ErrorCode } from '../base/errors.js';
import type { GroupId } from '../base/ids.js';
import type { SharedMemory } from '../collective/kernel/vector-memory.js';
import type { Lease, Progress } from '../core/group.js';
import type { Layout, WorkerMessage } from '../wire/messages.js';
import type { ControllerTimeout } from './lasting-control.js';
import type { Target } from './trust.js';

export interface CommThreadOptions extends Target {
  /** How long to keep trying to reach the controller at the start, in ms. */
  readonly connectTimeoutMs: number;
  /** How long the controller may be gone later. */
  readonly controllerTimeoutMs: ControllerTimeout;
}

/** Memory that both threads see; lengths in float32 values. */
export interface SharedVectors {
  /**
   * Holds the exchanged vector `input`, written by the training thread before `ready`, and the group's average `output`,
   * written by the comm thread before `averaged`.
   */
  readonly exchange: SharedMemory;
  /** Where what is exchanged is not the replica: two slots for what joiners need, written in turn. Else null. */
  readonly stateSlots: readonly [Float32Array, Float32Array] | null;
  /** Where the training thread puts what it publishes, while the comm thread may be using `input`; null: it publishes nothing. */
  readonly handover: Float32Array | null;
}

/** Who takes part in groups passively, as the strategy says (core/strategies/strategy.ts). */
export type PassiveRole = 'odd-workers' | 'everybody';

/** From the training thread of a worker that takes part in groups while it computes. */
export type PassiveMessage =
  /** No collective may begin until `letGo` or `publish`: the answer is `held`, once the one that runs is over. */
  | { readonly type: 'hold' }
  | { readonly type: 'letGo' }
  /** `handover` holds the replica after the k-th step (a held turn ends), or a gradient: it counts from now on. */
  | ({ readonly type: 'publish' } & ReadyStep)
  /** The round in this slot is part of the replica. */
  | { readonly type: 'applied'; readonly slot: number }
  /** `handover` holds the replica for the final average. */
  | { readonly type: 'offer' };

/** What a READY says, and which slot holds the joiners' state of before it. */
export interface ReadyStep {
  readonly k: number;
  readonly finite: boolean;
  readonly slot: 0 | 1;
  readonly report: StepReport;
}

/** What was measured of the step that ends with a READY. */
export interface StepReport {
  /** Local steps; default 1. */
  readonly steps?: number;
  readonly samples: number;
  readonly loss: number | null;
  readonly computeMs: number;
  readonly paddingMs: number;
  readonly overrun: boolean;
}

/** What became of a checkpoint that was asked for, as the controller is told. */
export type CheckpointAnswer = Extract<WorkerMessage, { type: 'checkpointed' | 'checkpointFailed' }>;

export type ToCommThread =
  | {
      readonly type: 'join';
      readonly layout: Layout;
      readonly exchangeLength: number;
      readonly stateLength: number;
      readonly worker: number | null;
      readonly vectors: SharedVectors;
      /** Whether it brings a state of its own where it is told `seed`. */
      readonly restores: boolean;
      /** Whether it answers `checkpoint`. */
      readonly keepsCheckpoints: boolean;
      readonly passive: PassiveRole | null;
      /** Whether it takes local steps while the controller is gone. */
      readonly trainsAlone: boolean;
    }
  /** The restored state lies where the initial one would, and its iteration number is k. */
  | { readonly type: 'restored'; readonly k: number }
  /** `input` (and `stateSlots[slot]`) hold this worker's vectors after its k-th step. */
  | ({ readonly type: 'ready' } & ReadyStep)
  | PassiveMessage
  | { readonly type: 'leaseRequest'; readonly finished: number | null }
  /** `input` holds the replica for the final average. */
  | { readonly type: 'finished'; readonly k: number; readonly slot: 0 | 1 }
  | CheckpointAnswer
  | { readonly type: 'leave' }
  | { readonly type: 'log'; readonly values: Readonly<Record<string, number>> };

export type FromCommThread =
  | { readonly type: 'welcome'; readonly runId: string; readonly config: Readonly<Record<string, unknown>> }
  | { readonly type: 'joined'; readonly worker: number; readonly incarnation: number }
  /** This worker holds the run's model. `fetched`: it came from a donor and lies in `output` (or in slot 0). */
  | { readonly type: 'synced'; readonly k: number; readonly fetched: boolean }
  /** `seed`, to a worker that restores: it answers `restored`. */
  | { readonly type: 'restore' }
  | { readonly type: 'start' }
  | { readonly type: 'checkpoint'; readonly checkpoint: number; readonly fromK: number }
  /** `output` holds the group's average; continue from k. */
  | {
      readonly type: 'averaged';
      readonly group: GroupId;
      readonly final: boolean;
      readonly k: number;
      readonly progress: Progress | null;
      readonly waitMs: number;
      readonly reduceMs: number;
    }
  /** The training thread's turn with the published vector, at k; `input` holds it where replicas are published. */
  | { readonly type: 'held'; readonly k: number; readonly progress: Progress | null }
  /** What was published counts; all rounds of before have been told. */
  | { readonly type: 'published' }
  /** A round's result. Rounds come in order, and count in order. */
  | {
      readonly type: 'round';
      readonly slot: number;
      readonly sum: Float32Array;
      readonly k: number;
      readonly progress: Progress;
    }
  /** All rounds have been told: the answer is `offer`. */
  | { readonly type: 'finalDue' }
  /** Nobody to average with: go on with the own vector. */
  | { readonly type: 'alone'; readonly k: number; readonly progress: Progress; readonly waitMs: number }
  | { readonly type: 'lease'; readonly lease: Lease; readonly progress: Progress }
  | { readonly type: 'finish'; readonly reason: string }
  | { readonly type: 'left' }
  /** The run is over or this worker is no longer part of it; the comm thread has closed everything. */
  | { readonly type: 'closed'; readonly reason: string; readonly rejoin: boolean }
  | {
      readonly type: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly retryable: boolean;
      readonly details: Readonly<Record<string, unknown>>;
    };
