/**
 * What simulated workers train: small problems with real gradients, in plain TypeScript, so that a simulation shows convergence
 * and not only speed.
 */
import type { Random } from '../base/random.js';
import { createLogistic } from './problem-logistic.js';
import { createQuadratic } from './problem-quadratic.js';

export interface ProblemEvaluation {
  readonly loss: number;
  /** Share of test samples classified rightly; null where there is nothing to classify. */
  readonly accuracy: number | null;
}

export interface Problem {
  /** Parameters. */
  readonly dimension: number;
  /** Where every replica begins; the caller's own. */
  initial(): Float32Array;
  /** Writes the mean gradient of one batch at `x` that `worker` draws with `random`. */
  gradient(x: Float32Array, worker: number, random: Random, into: Float32Array): void;
  evaluate(x: Float32Array): ProblemEvaluation;
}

export interface ProblemOptions {
  readonly seed: number;
  readonly workerCount: number;
  readonly batchSamples: number;
  readonly dimension: number;
  /** Standard deviation of one sample's noise. */
  readonly noise: number;
  /** How far the workers' own optima lie from the common one (data that are not alike everywhere); 0: not at all. */
  readonly spread: number;
}

export const PROBLEM_NAMES = ['quadratic', 'logistic'] as const;

export type ProblemName = (typeof PROBLEM_NAMES)[number];

const PROBLEMS = { quadratic: createQuadratic, logistic: createLogistic } as const satisfies Record<
  ProblemName,
  (options: ProblemOptions) => Problem
>;

export function createProblem(name: ProblemName, options: ProblemOptions): Problem {
  return PROBLEMS[name](options);
}

/** Learning rates at which both strategies converge on the default settings. */
export const DEFAULT_LEARNING_RATE = { quadratic: 0.1, logistic: 0.5 } as const satisfies Record<ProblemName, number>;
