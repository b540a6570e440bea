/**
 * One simulated worker: a replica of its own, real gradients, and the very rules by which real workers exchange them
 * (training/replica-rule.ts, training/passive-rule.ts). It knows nothing of time; the fleet says when.
 */
import { createRandom } from '../base/random.js';
import type { Strategy } from '../core/strategies/strategy.js';
import { createSgd } from '../engine/optimizer.js';
import { createReplicaRule, type Replica } from '../training/replica-rule.js';
import type { DeviceClock } from '../training/slow-down.js';
import type { Problem } from './problem.js';
import {
  createPublishingExchange,
  createRoundExchange,
  createWaitingExchange,
  type SimExchange,
  type SimExchangeParts,
} from './sim-exchange.js';

export interface SimWorkerOptions {
  readonly worker: number;
  readonly problem: Problem;
  /** Times of its iterations. */
  readonly clock: DeviceClock;
  readonly strategy: Strategy;
  /** Local steps between two exchanges. */
  readonly stepsPerRound: number;
  readonly learningRate: number;
  readonly momentum: number;
  readonly seed: number;
}

export interface SimWorker extends Omit<SimExchange, 'take'> {
  /** Length of its next round, in ms. */
  nextComputeMs(): number;
  /** Takes the local steps of a round. */
  compute(): void;
}

export function createSimWorker(options: SimWorkerOptions): SimWorker {
  const { worker, problem, strategy, stepsPerRound, learningRate, momentum, clock } = options;
  const draws = createRandom(options.seed).fork(1).fork(worker);
  const parameters = problem.initial();
  const optimizer = createSgd(parameters.length, { momentum });
  const replica: Replica = { parameters, auxiliary: new Float32Array(0), optimizer, k: 0 };
  const rule = createReplicaRule(replica, {
    exchanges: strategy.replica.exchanges,
    usesServers: strategy.usesServers ?? false,
    averageOptimizer: false,
    addsUp: strategy.passive === 'everybody',
  });
  const gradient = new Float32Array(parameters.length);
  const exchange = createExchange(strategy, worker, { replica, rule, learningRate });
  return Object.assign(exchange, {
    nextComputeMs() {
      let milliseconds = 0;
      for (let step = 0; step < stepsPerRound; step += 1) milliseconds += clock();
      return milliseconds;
    },
    compute() {
      for (let step = 0; step < stepsPerRound; step += 1) {
        problem.gradient(parameters, worker, draws, gradient);
        exchange.take(gradient);
      }
    },
  });
}

function createExchange({ passive }: Strategy, worker: number, parts: SimExchangeParts): SimExchange {
  if (passive === 'everybody') return createRoundExchange(parts);
  return passive === 'odd-workers' && worker % 2 === 1 ? createPublishingExchange(parts) : createWaitingExchange(parts);
}
