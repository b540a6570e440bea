/**
 * The replica's half of a strategy: what a worker exchanges after computing a gradient, and what it does with the
 * group's average (algorithms.md 2 and 6).
 */
import type { Optimizer } from '../engine/optimizer.js';

/** One worker's replica while it trains. */
export interface Replica {
  /** Flat parameters, updated in place. */
  readonly parameters: Float32Array;
  readonly optimizer: Optimizer;
  k: number;
}

export interface ReplicaRule {
  /** Length of the state that joiners need, null: the exchanged vector is the state. */
  stateLength(replica: Replica): number | null;
  /** Writes what is exchanged after a step with this gradient. Counts the step. */
  beforeExchange(replica: Replica, gradient: Float32Array, learningRate: number, exchanged: Float32Array): void;
  /** Takes the average (or, alone, the own vector back). */
  afterExchange(replica: Replica, average: Float32Array, kAfter: number, learningRate: number): void;
}

/** Partial reduce: the local update comes first, replicas are averaged, momentum stays local. */
const replicaExchange: ReplicaRule = {
  stateLength: () => null,
  beforeExchange(replica, gradient, learningRate, exchanged) {
    replica.optimizer.step(replica.parameters, gradient, learningRate);
    replica.k += 1;
    exchanged.set(replica.parameters);
  },
  afterExchange(replica, average, kAfter) {
    replica.parameters.set(average);
    replica.k = kAfter;
  },
};

/**
 * All-reduce (BSP): gradients are averaged and every worker applies the same update, so replicas and optimizer states stay
 * identical. A joiner therefore needs the optimizer's state too.
 */
const gradientExchange: ReplicaRule = {
  stateLength: (replica) => replica.parameters.length + replica.optimizer.state.length,
  beforeExchange(replica, gradient, _learningRate, exchanged) {
    replica.k += 1;
    exchanged.set(gradient);
  },
  afterExchange(replica, average, kAfter, learningRate) {
    replica.optimizer.step(replica.parameters, average, learningRate);
    replica.k = kAfter;
  },
};

export function replicaRule(exchanges: 'replica' | 'gradient'): ReplicaRule {
  return exchanges === 'replica' ? replicaExchange : gradientExchange;
}
