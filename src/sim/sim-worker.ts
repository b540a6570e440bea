/**
 * One simulated worker: a replica of its own, real gradients, and the very rule by which real workers exchange them
 * (training/replica-rule.ts). It knows nothing of time; the fleet says when.
 */
import { isFiniteVector } from '../base/finite.js';
import { createRandom } from '../base/random.js';
import { createSgd } from '../engine/optimizer.js';
import { createReplicaRule, type Replica } from '../training/replica-rule.js';
import type { DeviceClock } from '../training/slow-down.js';
import type { Problem } from './problem.js';

export interface SimWorkerOptions {
  readonly worker: number;
  readonly problem: Problem;
  /** Times of its iterations. */
  readonly clock: DeviceClock;
  readonly exchanges: 'replica' | 'gradient';
  /** Local steps between two exchanges. */
  readonly stepsPerRound: number;
  readonly learningRate: number;
  readonly momentum: number;
  readonly seed: number;
}

export interface SimWorker {
  /** Iteration number of the replica. */
  readonly k: number;
  readonly parameters: Float32Array;
  /** What it brings to the collective. */
  readonly exchanged: Float32Array;
  /** Length of its next round, in ms. */
  nextComputeMs(): number;
  /** Takes the local steps of a round; what is exchanged is ready then. Gives whether it is finite. */
  step(): boolean;
  /** Takes a group's average, or its own vector back where it is alone. */
  takeAverage(average: Float32Array, k: number): void;
  /** Puts the replica where the final average takes it from. */
  offerReplica(): void;
  takeFinal(average: Float32Array): void;
}

export function createSimWorker(options: SimWorkerOptions): SimWorker {
  const { worker, problem, exchanges, stepsPerRound, learningRate, momentum, clock } = options;
  const draws = createRandom(options.seed).fork(1).fork(worker);
  const parameters = problem.initial();
  const optimizer = createSgd(parameters.length, { momentum });
  const replica: Replica = { parameters, auxiliary: new Float32Array(0), optimizer, k: 0 };
  const rule = createReplicaRule(replica, { exchanges, averageOptimizer: false });
  const gradient = new Float32Array(parameters.length);
  const exchanged = new Float32Array(rule.exchangeLength);
  let isFinite = true;
  return {
    get k() {
      return replica.k;
    },
    parameters,
    exchanged,
    nextComputeMs() {
      let milliseconds = 0;
      for (let step = 0; step < stepsPerRound; step += 1) milliseconds += clock();
      return milliseconds;
    },
    step() {
      for (let step = 0; step < stepsPerRound; step += 1) {
        problem.gradient(parameters, worker, draws, gradient);
        rule.beforeExchange(gradient, learningRate, exchanged);
      }
      isFinite = isFiniteVector(exchanged);
      return isFinite;
    },
    takeAverage: (average, k) => rule.afterExchange({ average, k, finite: isFinite }, learningRate),
    offerReplica: () => rule.writeReplica(exchanged),
    takeFinal: rule.readReplica,
  };
}
