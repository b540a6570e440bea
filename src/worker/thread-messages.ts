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

export interface CommThreadOptions {
  /** ws:// or wss:// address of the controller. */
  readonly controller: string;
  readonly token: string | null;
  /** How long to keep trying to reach the controller at the start, in ms. */
  readonly connectTimeoutMs: number;
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
    }
  /** The restored state lies where the initial one would, and its iteration number is k. */
  | { readonly type: 'restored'; readonly k: number }
  /** `input` (and `stateSlots[slot]`) hold this worker's vectors after its k-th step. */
  | {
      readonly type: 'ready';
      readonly k: number;
      readonly finite: boolean;
      readonly slot: 0 | 1;
      readonly report: StepReport;
    }
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
  /** Nobody to average with: go on with the own vector. */
  | { readonly type: 'alone'; readonly k: number; readonly progress: Progress; readonly waitMs: number }
  | { readonly type: 'lease'; readonly lease: Lease; readonly progress: Progress }
  | { readonly type: 'finish'; readonly reason: string }
  | { readonly type: 'left' }
  /** The run is over or this worker is no longer part of it; the comm thread has closed everything. */
  | { readonly type: 'closed'; readonly reason: string }
  | {
      readonly type: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly retryable: boolean;
      readonly details: Readonly<Record<string, unknown>>;
    };
