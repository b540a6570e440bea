/**
 * The options of a local run: defaults, checks, and what the controller and the workers are told.
 */
import { PreduceError } from '../base/errors.js';
import { unknownNameMessage } from '../base/nearest.js';
import {
  type CheckpointConfig,
  type CollectiveChoice,
  type CoreConfig,
  defaultCoreConfig,
  type EagerRule,
  type RobustRule,
  type StrategyName,
} from '../core/config.js';
import { type GroupingOptions, groupingConfig } from '../core/grouping-options.js';
import { STRATEGY_NAMES, strategies } from '../core/strategies/strategies.js';
import { validateCoreConfig } from '../core/validate-config.js';
import type { TrainingConfig } from '../training/config.js';
import { type OptimizationOptions, resolveOptimization } from '../training/optimization.js';
import { runSamplesOf } from '../training/schedule.js';
import { checkSlowDowns, parseSlowDown } from '../training/slow-down.js';
import { findWorkload, type Workload } from '../training/workload.js';

/** When checkpoints are taken, beside at the end: once an epoch, or after so many samples of all workers or so much time. */
export type CheckpointEvery = 'epoch' | { readonly samples: number } | { readonly milliseconds: number };

export interface RunOptions extends GroupingOptions, OptimizationOptions {
  readonly workload?: string;
  /** Directory of the data; null (default): what the package ships. */
  readonly dataDirectory?: string | null;
  readonly strategy?: string;
  /** N, default 4. */
  readonly workers?: number;
  /** Workers below which the run pauses until more have joined; default 1: never. */
  readonly minWorkers?: number;
  /** P, default 2. */
  readonly groupSize?: number;
  /** H of local SGD, default 8. */
  readonly localSteps?: number;
  /** Whose READY begins a round of eager-reduce, default majority. */
  readonly eager?: EagerRule;
  /** How the members of a group average; `auto` (default): by its size. */
  readonly collective?: CollectiveChoice;
  /** Whether members of a group that are far from the others are bounded, default none. */
  readonly robust?: RobustRule;
  /** S of the ps strategies, default 1. */
  readonly servers?: number;
  /** s of ps-ssp, default 3. */
  readonly staleness?: number;
  /** b of ps-backup, default 1. */
  readonly backups?: number;
  /** Default 5,000. */
  readonly livenessMs?: number;
  /** `--slow` specifications. */
  readonly slow?: readonly string[];
  /** Reference time of an iteration in ms for `slow`; default: measured before the run. */
  readonly referenceMs?: number | null;
  readonly epochs?: number | null;
  /** Local steps of all workers together. */
  readonly steps?: number | null;
  readonly durationMs?: number | null;
  readonly targetAccuracy?: number | null;
  /** Whether reaching the target ends the run. Default true. */
  readonly stopAtTarget?: boolean;
  readonly evaluateEverySamples?: number | null;
  /** Null (default, but see `train`): no checkpoints. */
  readonly checkpointEvery?: CheckpointEvery | null;
  readonly batchSamples?: number;
  readonly leaseBatches?: number;
  readonly seed?: number;
  /** Engine threads of each worker, default 1. */
  readonly threads?: number;
}

/** Options with every default filled in and checked against the data. */
export interface ResolvedRun {
  readonly workload: Workload;
  readonly core: CoreConfig;
  readonly training: TrainingConfig;
  readonly durationMs: number | null;
  readonly targetAccuracy: number | null;
  readonly stopAtTarget: boolean;
}

const DEFAULT_WORKERS = 4;
/** Two is the smallest group; a run of one worker never forms any. */
const DEFAULT_GROUP_SIZE = 2;
/** H. */
const DEFAULT_LOCAL_STEPS = 8;

/** Evaluations of a run whose length is known, unless `evaluateEverySamples` says otherwise. */
const EVALUATIONS_PER_RUN = 30;
const EVALUATIONS_PER_EPOCH = 10;

function expectWhole(name: string, value: number, minimum: number): void {
  if (!Number.isSafeInteger(value) || value < minimum) {
    throw new PreduceError('bad-option', `${name}: expected a whole number of at least ${minimum}, got ${value}`);
  }
}

function expectPositive(name: string, value: number): void {
  if (!Number.isFinite(value) || value <= 0) {
    throw new PreduceError('bad-option', `${name}: expected a number above 0, got ${value}`);
  }
}

function resolveStrategy(name: string): StrategyName {
  const found = STRATEGY_NAMES.find((known) => known === name);
  if (found === undefined) throw new PreduceError('bad-option', unknownNameMessage('strategy', name, STRATEGY_NAMES));
  return found;
}

function checkSizes(options: { workers: number; groupSize: number; batchSamples: number; sampleCount: number }): void {
  const { workers, groupSize, batchSamples, sampleCount } = options;
  checkGroupSize(workers, groupSize);
  expectWhole('--batch-size', batchSamples, 1);
  if (batchSamples > sampleCount) {
    throw new PreduceError(
      'bad-option',
      `--batch-size: expected at most the ${sampleCount} samples of the training set, got ${batchSamples}`,
    );
  }
  if (workers * batchSamples > sampleCount) {
    throw new PreduceError(
      'bad-option',
      `--workers: ${workers} workers with batches of ${batchSamples} need ${workers * batchSamples} samples for one step each, ` +
        `the training set has ${sampleCount}: lower --workers or --batch-size`,
    );
  }
}

/** Throws `bad-option` where the run could never go on. */
function checkMinWorkers(workers: number, minWorkers: number): void {
  expectWhole('--min-workers', minWorkers, 1);
  if (minWorkers <= workers) return;
  throw new PreduceError(
    'bad-option',
    `--min-workers: expected at most the ${workers} workers of the run, got ${minWorkers}: lower it or raise --workers`,
  );
}

function checkGroupSize(workers: number, groupSize: number): void {
  expectWhole('--workers', workers, 1);
  if (!Number.isSafeInteger(groupSize) || groupSize < 2) {
    throw new PreduceError('bad-option', `--group-size: expected at least 2 workers in a group, got ${groupSize}`);
  }
  if (groupSize > workers && workers > 1) {
    throw new PreduceError(
      'bad-option',
      `--group-size: expected at most the ${workers} workers of the run, got ${groupSize}: lower it or raise --workers`,
    );
  }
}

/** Throws `bad-option` for settings of the ps strategies that cannot be. */
function checkServers(options: RunOptions, strategy: StrategyName, workers: number): void {
  const { servers, staleness, backups } = options;
  if (servers !== undefined) expectWhole('--servers', servers, 1);
  if (staleness !== undefined) expectWhole('--staleness', staleness, 0);
  if (backups !== undefined) expectWhole('--backups', backups, 0);
  if (strategy === 'ps-backup' && (backups ?? 1) >= workers) {
    throw new PreduceError(
      'bad-option',
      `--backups: expected fewer than the ${workers} workers of the run, got ${backups ?? 1}: no gradient would be waited for`,
    );
  }
}

/** What is handed to core as it is. */
function groupingOf(options: RunOptions): Partial<CoreConfig> {
  const { collective, robust, servers, staleness, backups, livenessMs, minWorkers } = options;
  return {
    ...(minWorkers === undefined ? {} : { minLiveWorkers: minWorkers }),
    ...groupingConfig(options),
    ...(collective === undefined ? {} : { collective }),
    ...(robust === undefined ? {} : { robust }),
    ...(servers === undefined ? {} : { servers }),
    ...(staleness === undefined ? {} : { staleness }),
    ...(backups === undefined ? {} : { backups }),
    ...(livenessMs === undefined ? {} : { livenessMs }),
  };
}

/**
 * The settings of a run of hand-written workers (joinRun): those of the options that do not speak of a workload.
 * Throws `bad-option`, `bad-config`.
 */
export function resolveJoinedRun(options: RunOptions): CoreConfig {
  const { workers = DEFAULT_WORKERS, groupSize = DEFAULT_GROUP_SIZE, steps = null, durationMs = null } = options;
  checkGroupSize(workers, groupSize);
  checkMinWorkers(workers, options.minWorkers ?? 1);
  if (steps !== null) expectWhole('--steps', steps, 1);
  if (durationMs !== null) expectPositive('--duration', durationMs);
  const strategy = resolveStrategy(options.strategy ?? 'partial-reduce');
  const { usesServers = false, passive } = strategies[strategy];
  if (usesServers || passive !== undefined) {
    const lack = usesServers ? 'have no servers' : 'publish nothing while they compute';
    throw new PreduceError(
      'bad-option',
      `--strategy ${strategy}: expected a --workload beside it, got none: hand-written workers ${lack}`,
    );
  }
  const core = defaultCoreConfig({
    ...groupingOf(options),
    strategy,
    groupSize,
    minWorkers: workers,
    maxLocalSteps: steps,
  });
  validateCoreConfig(core);
  return core;
}

/** Where a run ends: by epochs unless steps or a duration were asked for. */
function resolveEpochs(options: RunOptions, workload: Workload): number | null {
  if (options.epochs != null) expectWhole('--epochs', options.epochs, 1);
  if (options.steps != null) expectWhole('--steps', options.steps, 1);
  if (options.durationMs != null) expectPositive('--duration', options.durationMs);
  if (options.epochs != null) return options.epochs;
  return options.steps != null || options.durationMs != null ? null : workload.defaults.epochs;
}

function resolveCheckpoints(every: CheckpointEvery | null, sampleCount: number): CheckpointConfig | null {
  if (every === null) return null;
  if (every === 'epoch') return { everySamples: sampleCount, everyMs: null };
  if ('samples' in every) {
    expectWhole('--checkpoint-every', every.samples, 1);
    return { everySamples: every.samples, everyMs: null };
  }
  expectPositive('--checkpoint-every', every.milliseconds);
  return { everySamples: null, everyMs: every.milliseconds };
}

/** Fills in defaults and checks everything that can be checked before a process starts. Throws `bad-option`, `bad-config`. */
export function resolveRun(options: RunOptions, sampleCount: number): ResolvedRun {
  const workload = findWorkload(options.workload ?? 'mnist-mlp');
  const { defaults } = workload;
  const strategy = resolveStrategy(options.strategy ?? 'partial-reduce');
  const workers = options.workers ?? DEFAULT_WORKERS;
  const batchSamples = options.batchSamples ?? defaults.batchSamples;
  const groupSize = options.groupSize ?? DEFAULT_GROUP_SIZE;
  checkSizes({ workers, groupSize, batchSamples, sampleCount });
  checkMinWorkers(workers, options.minWorkers ?? 1);
  checkServers(options, strategy, workers);
  const threads = options.threads ?? 1;
  expectWhole('--threads', threads, 1);
  const seed = options.seed ?? 1;
  expectWhole('--seed', seed, 0);
  // A round ends with its lease: one that is shorter would shorten all rounds.
  const localSteps = options.localSteps ?? DEFAULT_LOCAL_STEPS;
  const leaseBatches = options.leaseBatches ?? (strategy === 'local-sgd' ? localSteps : 4);
  expectWhole('--lease-batches', leaseBatches, 1);
  const slow = options.slow ?? [];
  checkSlowDowns(slow.map(parseSlowDown), workers);
  const targetAccuracy = options.targetAccuracy ?? null;
  if (targetAccuracy !== null && !(targetAccuracy > 0 && targetAccuracy <= 1)) {
    throw new PreduceError(
      'bad-option',
      `--target-accuracy: expected a share above 0 and at most 1, got ${targetAccuracy}`,
    );
  }
  const epochs = resolveEpochs(options, workload);
  const runSamples = runSamplesOf({ sampleCount, batchSamples, epochs, steps: options.steps ?? null });
  const optimization = resolveOptimization(options, { defaults, runSamples });
  const evaluateEverySamples =
    options.evaluateEverySamples ??
    Math.ceil(epochs === null ? sampleCount / EVALUATIONS_PER_EPOCH : (epochs * sampleCount) / EVALUATIONS_PER_RUN);
  expectWhole('--evaluate-every', evaluateEverySamples, 1);

  const core = defaultCoreConfig({
    ...groupingOf(options),
    strategy,
    groupSize,
    localSteps,
    eager: options.eager ?? 'majority',
    seed,
    minWorkers: workers,
    ledger: { sampleCount, batchSamples, leaseBatches, epochs },
    maxLocalSteps: options.steps ?? null,
    evaluateEverySamples,
    checkpoints: resolveCheckpoints(options.checkpointEvery ?? null, sampleCount),
  });
  validateCoreConfig(core);
  return {
    workload,
    core,
    training: {
      workload: workload.name,
      dataDirectory: options.dataDirectory ?? null,
      strategy,
      localSteps,
      seed,
      workerCount: workers,
      batchSamples,
      ...optimization,
      threads,
      slow: [...slow],
      referenceMs: options.referenceMs ?? null,
    },
    durationMs: options.durationMs ?? null,
    targetAccuracy,
    stopAtTarget: options.stopAtTarget ?? true,
  };
}
