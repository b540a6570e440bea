/**
 * Every built-in model by name.
 */
import type { Graph } from '../engine/graph.js';
import { mnistCnn } from './mnist-cnn.js';
import { mnistMlp } from './mnist-mlp.js';

export interface ModelEntry {
  /** Builds the graph, with no parameters in it yet. */
  readonly build: () => Graph;
  /** Shape of one sample. */
  readonly inputShape: readonly number[];
  readonly classCount: number;
}

/** Names are stable: they stand in run records and checkpoints. */
export const models = {
  'mnist-cnn': { build: mnistCnn, inputShape: [1, 28, 28], classCount: 10 },
  'mnist-mlp': { build: mnistMlp, inputShape: [1, 28, 28], classCount: 10 },
} as const satisfies Readonly<Record<string, ModelEntry>>;
