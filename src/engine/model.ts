/**
 * What training needs of a model, whatever computes it.
 */
import type { Layout } from '../wire/messages.js';

/** One batch: `count` samples, row after row. */
export interface Batch {
  /** Shape [count, ...inputShape]. Owned by the caller; only read, and only until the call resolves. */
  readonly inputs: Float32Array;
  /** Shape [count]: class numbers. */
  readonly labels: Int32Array;
  readonly count: number;
  /** Decides what the batch draws at random (dropout). Default: the number of gradients that the model computed. */
  readonly seed?: number;
}

export interface Gradient {
  /** Mean loss over the batch. */
  readonly loss: number;
  /** Shape of `parameters`: mean gradient over the batch. Owned by the model, overwritten by the next call. */
  readonly values: Float32Array;
}

export interface Evaluation {
  /** Mean loss over the batch. */
  readonly loss: number;
  /** Samples whose largest output is their label. */
  readonly correct: number;
}

/** A model with one flat parameter vector, which it reads at every call: update it in place between calls. */
export interface Model {
  /** Names and shapes of the tensors that lie one after another in `parameters`. */
  readonly layout: Layout;
  /** All parameters, in an ordinary ArrayBuffer. */
  readonly parameters: Float32Array;
  /** Names and shapes of the tensors that lie one after another in `auxiliary`; empty for many models. */
  readonly auxiliaryLayout: Layout;
  /** Running statistics and the like, in an ordinary ArrayBuffer: read by `evaluate`, updated by `gradient`. */
  readonly auxiliary: Float32Array;
  /** Throws `bad-data` and `engine-failed`; nothing has changed then. */
  gradient(batch: Batch): Promise<Gradient>;
  /** Throws `bad-data` and `engine-failed`. */
  evaluate(batch: Batch): Promise<Evaluation>;
  /** Frees the sessions; the model cannot be used afterwards. */
  release(): Promise<void>;
}
