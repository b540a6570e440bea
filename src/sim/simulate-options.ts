/**
 * The options of a simulation: defaults and checks. Grouping is checked by the core's own rules.
 */
import { PreduceError } from '../base/errors.js';
import { unknownNameMessage } from '../base/nearest.js';
import { COLLECTIVE_CHOICES, type CoreConfig, defaultCoreConfig, EAGER_RULES, type EagerRule } from '../core/config.js';
import { type GroupingOptions, groupingConfig } from '../core/grouping-options.js';
import { STRATEGY_NAMES } from '../core/strategies/strategies.js';
import { validateCoreConfig } from '../core/validate-config.js';
import { checkSlowDowns, parseSlowDown } from '../training/slow-down.js';
import type { ComputeModel, Trace } from './compute-model.js';
import type { NetworkOptions } from './network-model.js';
import type { CurveTarget } from './loss-curve.js';
import { PROBLEM_NAMES, type ProblemOptions, PROBLEMS, type ProblemSource } from './problem.js';

export interface SimulateOptions extends GroupingOptions {
  /** Default partial-reduce. */
  readonly strategy?: string;
  /** N, default 8. */
  readonly workers?: number;
  /** P, default 2. */
  readonly groupSize?: number;
  /** H of local SGD, default 8. */
  readonly localSteps?: number;
  /** Whose READY begins a round of eager-reduce, default majority. */
  readonly eager?: EagerRule;
  /** S, parameter servers of the strategies that have them, default 1. */
  readonly servers?: number;
  /** s of ps-ssp, default 3. */
  readonly staleness?: number;
  /** b of ps-backup, default 1. */
  readonly backups?: number;
  /** Time of an iteration without any slow-down, in ms; default 100. */
  readonly computeMs?: number;
  /** `--slow` specifications, traces not among them. */
  readonly slow?: readonly string[];
  /** Measured times in the place of `computeMs`. */
  readonly trace?: Trace | null;
  /** Sigma of a log-normal factor of mean 1 on every iteration; default 0. */
  readonly noise?: number;
  /** Worker to worker, in ms; default 0.1. */
  readonly latencyMs?: number;
  /** Worker to controller, one way, in ms; default: as between workers. */
  readonly controlLatencyMs?: number;
  /** Of each host's link, each way; default 10^10; Infinity: bytes cost nothing. */
  readonly bitsPerSecond?: number;
  /** Workers that share a host's link: the first so many, the next, and so on. Default 1. */
  readonly workersPerHost?: number;
  /** Of what moves between workers of one host; default Infinity. */
  readonly hostBitsPerSecond?: number;
  /** Default 45,000,000 (ResNet-18); a workload's own size. */
  readonly modelBytes?: number;
  /** Default auto: by the size of each group. */
  readonly collective?: string;
  /** `quadratic` (default), `logistic`, `network`, or one that is made elsewhere, like a workload's. */
  readonly problem?: string | ProblemSource;
  /** Parameters of the problem; default 16. */
  readonly dimension?: number;
  /** Of the quadratic: standard deviation of one sample's gradient noise; default 1. */
  readonly gradientNoise?: number;
  /** Of the quadratic: how far the workers' own optima lie from the common one; default 0. */
  readonly spread?: number;
  readonly learningRate?: number;
  readonly momentum?: number;
  readonly batchSamples?: number;
  /** Local steps of all workers together; default 200 for each worker, unless there is a duration. */
  readonly steps?: number | null;
  /** Virtual time, in ms. */
  readonly durationMs?: number | null;
  readonly targetLoss?: number | null;
  /** Of the test samples, a share; instead of a loss. */
  readonly targetAccuracy?: number | null;
  /** Whether reaching the target ends the run; default true. */
  readonly stopAtTarget?: boolean;
  /** Default: 50 evaluations in a run whose length in steps is known, else one after 5 steps of everybody. */
  readonly evaluateEverySamples?: number;
  readonly seed?: number;
}

export interface ResolvedSimulation {
  readonly core: CoreConfig;
  readonly workerCount: number;
  readonly compute: ComputeModel;
  readonly network: NetworkOptions;
  readonly source: ProblemSource;
  readonly problem: ProblemOptions;
  readonly learningRate: number;
  readonly momentum: number;
  readonly batchSamples: number;
  readonly seed: number;
  readonly durationMs: number | null;
  readonly target: CurveTarget | null;
  readonly stopAtTarget: boolean;
}

const STEPS_PER_WORKER = 200;
const EVALUATIONS = 50;
const EVALUATED_STEPS = 5;
/** A plan has a step for each pair of members. */
const WORKERS_MAX = 16_384;

function badOption(message: string): PreduceError {
  return new PreduceError('bad-option', message);
}

function whole(flag: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw badOption(`${flag}: expected a whole number ${range}, got ${value}`);
}

/** A finite number of at least 0; with a `unit` where its values have one. */
function notNegative(flag: string, value: number, unit = ''): number {
  if (Number.isFinite(value) && value >= 0) return value;
  throw badOption(`${flag}: expected a number of at least 0, got ${value}${unit}`);
}

function aboveZero(flag: string, value: number, unit = ''): number {
  if (Number.isFinite(value) && value > 0) return value;
  throw badOption(`${flag}: expected a number above 0, got ${value}${unit}`);
}

function named<T extends string>(kind: string, name: string, known: readonly T[]): T {
  const found = known.find((each) => each === name);
  if (found === undefined) throw badOption(unknownNameMessage(kind, name, known));
  return found;
}

/** Fills in defaults and checks them all. Throws `bad-option`, `bad-config`. */
export function resolveSimulation(options: SimulateOptions): ResolvedSimulation {
  const workerCount = whole('--workers', options.workers ?? 8, 1, WORKERS_MAX);
  const seed = whole('--seed', options.seed ?? 1, 0);
  const source = resolveProblem(options.problem ?? 'quadratic');
  const batchSamples = whole('--batch-size', options.batchSamples ?? source.defaults.batchSamples, 1);
  const momentum = options.momentum ?? source.defaults.momentum;
  if (!(momentum >= 0 && momentum < 1)) {
    throw badOption(`--momentum: expected a number from 0 to below 1, got ${momentum}`);
  }
  return {
    core: resolveCore(options, { workerCount, batchSamples }),
    workerCount,
    compute: resolveCompute(options, workerCount),
    network: resolveNetwork(options, source),
    source,
    problem: {
      seed,
      workerCount,
      batchSamples,
      // Two at least: the logistic problem has a bias beside its features.
      dimension: source.dimension ?? whole('--dimension', options.dimension ?? 16, 2),
      noise: notNegative('--gradient-noise', options.gradientNoise ?? 1),
      spread: notNegative('--spread', options.spread ?? 0),
    },
    learningRate: aboveZero('--lr', options.learningRate ?? source.defaults.learningRate),
    momentum,
    batchSamples,
    seed,
    durationMs: options.durationMs == null ? null : aboveZero('--duration', options.durationMs, ' ms'),
    target: resolveTarget(options, source),
    stopAtTarget: options.stopAtTarget ?? true,
  };
}

function resolveProblem(problem: string | ProblemSource): ProblemSource {
  return typeof problem === 'string' ? PROBLEMS[named('problem', problem, PROBLEM_NAMES)] : problem;
}

function resolveTarget(
  { targetLoss = null, targetAccuracy = null }: SimulateOptions,
  { name, hasAccuracy }: ProblemSource,
): CurveTarget | null {
  if (targetLoss !== null && targetAccuracy !== null) {
    throw badOption(
      `--target-loss: expected one target, got --target-accuracy ${targetAccuracy} beside it: choose one`,
    );
  }
  if (targetLoss !== null) return { of: 'loss', value: aboveZero('--target-loss', targetLoss) };
  if (targetAccuracy === null) return null;
  if (!hasAccuracy) {
    throw badOption(
      `--target-accuracy: expected a --problem with something to classify, got ${name}: use --target-loss`,
    );
  }
  if (!(targetAccuracy > 0 && targetAccuracy <= 1)) {
    throw badOption(`--target-accuracy: expected a share above 0 and at most 1, got ${targetAccuracy}`);
  }
  return { of: 'accuracy', value: targetAccuracy };
}

function resolveCore(
  options: SimulateOptions,
  { workerCount, batchSamples }: { readonly workerCount: number; readonly batchSamples: number },
): CoreConfig {
  const { durationMs = null } = options;
  const groupSize = whole('--group-size', options.groupSize ?? 2, 2);
  if (groupSize > workerCount && workerCount > 1) {
    throw badOption(`--group-size: expected at most the ${workerCount} workers of the run, got ${groupSize}`);
  }
  const steps = options.steps ?? (durationMs === null ? STEPS_PER_WORKER * workerCount : null);
  if (steps !== null) whole('--steps', steps, 1);
  const evaluateEverySamples =
    options.evaluateEverySamples ??
    batchSamples * Math.ceil(steps === null ? EVALUATED_STEPS * workerCount : steps / EVALUATIONS);
  const core = defaultCoreConfig({
    ...groupingConfig(options),
    strategy: named('strategy', options.strategy ?? 'partial-reduce', STRATEGY_NAMES),
    groupSize,
    localSteps: whole('--local-steps', options.localSteps ?? 8, 1),
    eager: named('eager rule', options.eager ?? 'majority', EAGER_RULES),
    servers: whole('--servers', options.servers ?? 1, 1),
    staleness: whole('--staleness', options.staleness ?? 3, 0),
    backups: whole('--backups', options.backups ?? 1, 0),
    seed: options.seed ?? 1,
    collective: named('collective', options.collective ?? 'auto', COLLECTIVE_CHOICES),
    minWorkers: workerCount,
    maxLocalSteps: steps,
    evaluateEverySamples: whole('--evaluate-every', evaluateEverySamples, 1),
  });
  validateCoreConfig(core);
  return core;
}

function resolveCompute(options: SimulateOptions, workerCount: number): ComputeModel {
  const slow = (options.slow ?? []).map(parseSlowDown);
  checkSlowDowns(slow, workerCount);
  const sigma = notNegative('--noise', options.noise ?? 0);
  return {
    referenceMs: aboveZero('--compute', options.computeMs ?? 100, ' ms'),
    slow: sigma === 0 ? slow : [...slow, { kind: 'lognormal', sigma }],
    trace: options.trace ?? null,
  };
}

function resolveNetwork(options: SimulateOptions, source: ProblemSource): NetworkOptions {
  const latencyMs = notNegative('--latency', options.latencyMs ?? 0.1, ' ms');
  return {
    latencyMs,
    controlLatencyMs: notNegative('--control-latency', options.controlLatencyMs ?? latencyMs, ' ms'),
    bitsPerSecond: rate('--bandwidth', options.bitsPerSecond ?? 1e10),
    modelBytes: whole('--model-bytes', options.modelBytes ?? source.modelBytes, 0),
    servers: options.servers ?? 1,
    workersPerHost: whole('--workers-per-host', options.workersPerHost ?? 1, 1),
    hostBitsPerSecond: rate('--host-bandwidth', options.hostBitsPerSecond ?? Number.POSITIVE_INFINITY),
  };
}

function rate(flag: string, bitsPerSecond: number): number {
  if (bitsPerSecond > 0) return bitsPerSecond;
  throw badOption(`${flag}: expected more than 0 bits per second, or "unlimited", got ${bitsPerSecond}`);
}
