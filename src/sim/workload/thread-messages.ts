/**
 * What passes between a simulation and the thread that computes for it. Vectors lie in shared memory: the simulation writes, asks
 * and sleeps until the thread has answered there.
 */
import type { MessagePort } from 'node:worker_threads';
import type { ErrorCode } from '../../base/errors.js';

/** Values of the one shared cell. */
export const STATE = { idle: 0, asked: 1, answered: 2, failed: 3 } as const;

/** Memory that both sides see. */
export interface SharedVectors {
  /** Length 1. */
  readonly state: Int32Array;
  /** All parameters of the model: where a gradient is asked for, or what is evaluated; the initial ones after `reset`. */
  readonly parameters: Float32Array;
  readonly gradient: Float32Array;
  /** Loss and accuracy of the last evaluation. */
  readonly evaluation: Float64Array;
}

export type Question =
  /** The initial parameters of this seed. */
  | { readonly type: 'reset'; readonly seed: number }
  /** The mean gradient over these samples of the training set. */
  | { readonly type: 'gradient'; readonly samples: Uint32Array; readonly seed: number }
  | { readonly type: 'evaluate' };

/** What the thread is started with. */
export interface ThreadOptions {
  readonly workload: string;
  readonly dataDirectory: string | null;
  /** Where it says why it failed: the simulation reads there without an event loop. */
  readonly failures: MessagePort;
}

/** What the thread tells when it is ready. */
export interface Opened {
  readonly vectors: SharedVectors;
  readonly sampleCount: number;
}

/** Why a question was not answered. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
}
