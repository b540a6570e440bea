/**
 * What simulated workers train: small problems with real gradients, in plain TypeScript, so that a simulation shows convergence
 * and not only speed.
 */
import type { Random } from '../base/random.js';
import { createLogistic } from './problem-logistic.js';
import { createNetwork, NETWORK_DIMENSION } from './problem-network.js';
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

/** Where problems of a kind come from. */
export interface ProblemSource {
  readonly name: string;
  /** Parameters, where they are not the caller's choice. */
  readonly dimension: number | null;
  /** What a collective averages unless the caller says otherwise: a small problem stands for a model of real size. */
  readonly modelBytes: number;
  /** What a simulation uses unless told otherwise. */
  readonly defaults: { readonly learningRate: number; readonly momentum: number; readonly batchSamples: number };
  /** Whether its evaluations have an accuracy. */
  readonly hasAccuracy: boolean;
  create(options: ProblemOptions): Problem;
}

export const PROBLEM_NAMES = ['quadratic', 'logistic', 'network'] as const;

export type ProblemName = (typeof PROBLEM_NAMES)[number];

const RESNET_18_BYTES = 45e6;

/** By name; partial reduce and all-reduce converge on the default settings. */
export const PROBLEMS = {
  quadratic: {
    name: 'quadratic',
    dimension: null,
    modelBytes: RESNET_18_BYTES,
    defaults: { learningRate: 0.1, momentum: 0, batchSamples: 32 },
    hasAccuracy: false,
    create: createQuadratic,
  },
  logistic: {
    name: 'logistic',
    dimension: null,
    modelBytes: RESNET_18_BYTES,
    defaults: { learningRate: 0.5, momentum: 0, batchSamples: 32 },
    hasAccuracy: true,
    create: createLogistic,
  },
  network: {
    name: 'network',
    dimension: NETWORK_DIMENSION,
    modelBytes: RESNET_18_BYTES,
    defaults: { learningRate: 0.1, momentum: 0.9, batchSamples: 32 },
    hasAccuracy: true,
    create: createNetwork,
  },
} as const satisfies Record<ProblemName, ProblemSource>;
