/**
 * The replica's half of a strategy: what a worker exchanges after computing a gradient, and what it does with the
 * group's average (algorithms.md 2 and 6). Running statistics belong to the replica: they travel behind the parameters.
 */
import { isFiniteVector } from '../base/finite.js';
import type { Optimizer } from '../engine/optimizer.js';

/** One worker's replica while it trains. */
export interface Replica {
  /** Flat parameters, updated in place. */
  readonly parameters: Float32Array;
  /** Running statistics, updated in place; empty for many models. */
  readonly auxiliary: Float32Array;
  readonly optimizer: Optimizer;
  k: number;
}

/** How an exchange ended, as far as the replica cares. */
export interface Exchanged {
  /** The group's average (or, alone, the own vector back). */
  readonly average: Float32Array;
  /** Iteration number to go on from. */
  readonly k: number;
  /** Whether the own vector was finite; if not, the group's average is without it. */
  readonly finite: boolean;
}

/** A replica's dealings with others. Every vector begins with the values of `writeReplica`, or with their gradients. */
export interface ReplicaRule {
  /** Values that are exchanged after each step. */
  readonly exchangeLength: number;
  /** Length of the state that joiners need; null: the exchanged vector is the state. */
  readonly stateLength: number | null;
  /** Writes what is exchanged after a step with this gradient. Counts the step. */
  beforeExchange(gradient: Float32Array, learningRate: number, exchanged: Float32Array): void;
  afterExchange(exchanged: Exchanged, learningRate: number): void;
  /** Writes the replica as the final average takes it, `exchangeLength` values. */
  writeReplica(into: Float32Array): void;
  /** Takes the final average. */
  readReplica(from: Float32Array): void;
  /** Writes what joiners need, `stateLength ?? exchangeLength` values. */
  writeState(into: Float32Array): void;
  readState(from: Float32Array, k: number): void;
}

export interface ReplicaRuleOptions {
  /** What the strategy averages. */
  readonly exchanges: 'replica' | 'gradient';
  /** Whether the optimizer's state is averaged with the replica; of no effect on gradients. */
  readonly averageOptimizer: boolean;
  /** Whether the strategy's gradients are applied at servers. Default false. */
  readonly usesServers?: boolean;
  /** Whether gradients add up until they are exchanged, so that a collective may contain several of one worker, or none. Default false. */
  readonly addsUp?: boolean;
}

export function createReplicaRule(replica: Replica, options: ReplicaRuleOptions): ReplicaRule {
  const { exchanges, averageOptimizer, usesServers = false, addsUp = false } = options;
  if (usesServers) return serverExchange(replica);
  return exchanges === 'replica' ? replicaExchange(replica, averageOptimizer) : gradientExchange(replica, addsUp);
}

/** Writes the vectors one after another. */
function join(vectors: readonly Float32Array[], into: Float32Array): void {
  let offset = 0;
  for (const vector of vectors) {
    into.set(vector, offset);
    offset += vector.length;
  }
}

/** Reads them back, as many as `from` holds. */
function split(from: Float32Array, vectors: readonly Float32Array[]): void {
  let offset = 0;
  for (const vector of vectors) {
    vector.set(from.subarray(offset, offset + vector.length));
    offset += vector.length;
  }
}

function lengthOf(vectors: readonly Float32Array[]): number {
  return vectors.reduce((sum, vector) => sum + vector.length, 0);
}

/**
 * Partial reduce: the local update comes first, then replicas are averaged. The optimizer's state stays local unless
 * `averageOptimizer`.
 */
function replicaExchange(replica: Replica, averageOptimizer: boolean): ReplicaRule {
  const { parameters, auxiliary, optimizer } = replica;
  const vectors = averageOptimizer ? [parameters, auxiliary, optimizer.state] : [parameters, auxiliary];
  const write = (into: Float32Array): void => join(vectors, into);
  return {
    exchangeLength: lengthOf(vectors),
    stateLength: null,
    beforeExchange(gradient, learningRate, exchanged) {
      optimizer.step(parameters, gradient, learningRate);
      replica.k += 1;
      write(exchanged);
    },
    afterExchange({ average, k, finite }) {
      split(average, vectors);
      // What made the replica worthless lies in the local state, too; an averaged state is the group's, without it.
      if (!finite && !averageOptimizer) optimizer.reset();
      replica.k = k;
    },
    writeReplica: write,
    readReplica: (from) => split(from, vectors),
    writeState: write,
    readState(from, k) {
      split(from, vectors);
      replica.k = k;
    },
  };
}

/**
 * All-reduce (BSP): gradients are averaged and every worker applies the same update, so replicas and optimizer states
 * stay identical; a joiner therefore needs the optimizer's state, too. Running statistics are averaged in the same
 * collective: each worker's are those of before moved towards its own batch, so their mean moves towards all batches. Where
 * gradients add up it is the moves that are exchanged.
 */
function gradientExchange(replica: Replica, addsUp: boolean): ReplicaRule {
  const { parameters, auxiliary, optimizer } = replica;
  // As of the last exchange: what a joiner gets, and what stays when a round is left out.
  const agreed = auxiliary.slice();
  const state = [parameters, agreed, optimizer.state];
  return {
    exchangeLength: parameters.length + auxiliary.length,
    stateLength: lengthOf(state),
    beforeExchange(gradient, _learningRate, exchanged) {
      replica.k += 1;
      const moved = addsUp ? auxiliary.map((value, i) => value - (agreed[i] as number)) : auxiliary;
      join([gradient, moved], exchanged);
    },
    afterExchange({ average, k }, learningRate) {
      // A worker whose gradient was not finite steps as the others do: its optimizer never saw that gradient, and a reset
      // would part its replica from theirs for good. If nobody's was finite, everybody leaves the round out.
      if (isFiniteVector(average)) {
        optimizer.step(parameters, average.subarray(0, parameters.length), learningRate);
        const statistics = average.subarray(parameters.length);
        agreed.set(addsUp ? agreed.map((value, i) => value + (statistics[i] as number)) : statistics);
      }
      auxiliary.set(agreed);
      replica.k = k;
    },
    writeReplica: (into) => join([parameters, auxiliary], into),
    readReplica: (from) => split(from, [parameters, auxiliary]),
    writeState: (into) => join(state, into),
    readState(from, k) {
      split(from, state);
      auxiliary.set(agreed);
      replica.k = k;
    },
  };
}

/**
 * Parameter servers: a gradient goes there, the parameters come back, and so do the running statistics. The optimizer is
 * the servers'; a worker has nothing to step.
 */
function serverExchange(replica: Replica): ReplicaRule {
  const { parameters, auxiliary } = replica;
  // As of the last pull: what a joiner, or a server, gets while this worker's own statistics run on.
  const pulled = auxiliary.slice();
  const vectors = [parameters, auxiliary];
  const length = lengthOf(vectors);
  return {
    exchangeLength: length,
    stateLength: length,
    beforeExchange(gradient, _learningRate, exchanged) {
      replica.k += 1;
      join([gradient, auxiliary], exchanged);
    },
    afterExchange({ average, k }) {
      split(average, vectors);
      pulled.set(auxiliary);
      replica.k = k;
    },
    writeReplica: (into) => join([parameters, pulled], into),
    readReplica: (from) => split(from, vectors),
    writeState: (into) => join([parameters, pulled], into),
    readState(from, k) {
      split(from, vectors);
      pulled.set(auxiliary);
      replica.k = k;
    },
  };
}
