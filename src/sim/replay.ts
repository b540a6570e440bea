/**
 * A recorded run played again in virtual time: its workers' iterations and its collectives take as long as they did; who meets
 * whom and when all is done is the simulation's own finding. Beside what was measured it tells how true the simulator is; with
 * another strategy it tells what that would have cost on the same machines.
 */
import { PreduceError } from '../base/errors.js';
import type { CoreConfig, StrategyName } from '../core/config.js';
import { type GroupingOptions, groupingConfig } from '../core/grouping-options.js';
import { strategies } from '../core/strategies/strategies.js';
import type { RunSummary } from '../observe/summary.js';
import type { RecordedRun } from './recorded-run.js';
import { createReplayNetwork } from './replay-network.js';
import { type ResolvedSimulation, resolveSimulation } from './simulate-options.js';
import { simulateResolved } from './simulate.js';

/** What a replay may change; what is left out is as in the record. */
export interface ReplayOptions extends GroupingOptions {
  readonly strategy?: string;
  readonly groupSize?: number;
  readonly localSteps?: number;
  readonly eager?: CoreConfig['eager'];
  readonly collective?: CoreConfig['collective'];
}

/** Figures that a record and its replay have both. */
export interface ReplayFigures {
  /** From the first step to the final model. */
  readonly wallSeconds: number;
  readonly groups: number;
  readonly updates: number;
  readonly localSteps: number;
  /** Wall time of one update. */
  readonly updateMs: number;
  readonly idleShare: number;
  readonly reduceShare: number;
  /** By worker number. */
  readonly stepsPerWorker: readonly number[];
}

export interface Replay {
  readonly recordedStrategy: StrategyName;
  /** The one that was played. */
  readonly strategy: StrategyName;
  readonly workers: number;
  readonly recorded: ReplayFigures;
  readonly predicted: ReplayFigures;
  /** (predicted - recorded) / recorded; null where another run than the recorded one was played. */
  readonly errors: Pick<ReplayFigures, 'wallSeconds' | 'groups' | 'updateMs'> | null;
  /** Read off the record. */
  readonly controlLatencyMs: number;
  readonly modelBytes: number;
  readonly traceHash: string;
}

/** What decides who meets whom: how members are weighted changes no time. */
const GROUPING_KEYS = [
  'strategy',
  'groupSize',
  'localSteps',
  'eager',
  'collective',
  'filter',
  'connectivityGroups',
] as const satisfies readonly (keyof CoreConfig)[];

/** Plays the recorded run, or another on the same machines. Throws `bad-option`, `bad-config`. */
export function replay(recorded: RecordedRun, options: ReplayOptions = {}): Replay {
  const { core, workerCount, times, summary } = recorded;
  const resolved = resolveReplay(recorded, options);
  const played = simulateResolved(resolved, createReplayNetwork(times, core.collective));
  const [measured, predicted] = [figuresOf(summary), figuresOf(played)];
  const error = (key: 'wallSeconds' | 'groups' | 'updateMs'): number =>
    predicted[key] === measured[key] ? 0 : (predicted[key] - measured[key]) / measured[key];
  const isSame = GROUPING_KEYS.every((key) => core[key] === resolved.core[key]);
  return {
    recordedStrategy: core.strategy,
    strategy: resolved.core.strategy,
    workers: workerCount,
    recorded: measured,
    predicted,
    errors: isSame ? { wallSeconds: error('wallSeconds'), groups: error('groups'), updateMs: error('updateMs') } : null,
    controlLatencyMs: times.controlLatencyMs,
    modelBytes: times.modelBytes,
    traceHash: played.traceHash,
  };
}

function resolveReplay({ core, workerCount, times, summary }: RecordedRun, options: ReplayOptions): ResolvedSimulation {
  const { strategy, groupSize, localSteps, eager, collective, filter, connectivityGroups } = { ...core, ...options };
  // Where something else ended it (the data, a target, the clock), it is as long as it came to be.
  const steps = Math.min(core.maxLocalSteps ?? Number.POSITIVE_INFINITY, summary.localSteps);
  // The core's own settings are checked here, too.
  const resolved = resolveSimulation({
    workers: workerCount,
    strategy,
    groupSize,
    localSteps,
    eager,
    collective,
    steps,
    trace: times.trace,
    modelBytes: times.modelBytes,
    // Only times are of interest.
    dimension: 2,
    gradientNoise: 0,
    seed: core.seed,
  });
  for (const each of [core.strategy, resolved.core.strategy]) {
    if (strategies[each].usesServers !== true) continue;
    throw new PreduceError(
      'bad-option',
      `--replay: expected a strategy without servers, whose times no record tells, got ${each}`,
    );
  }
  const { weights, weighting, alpha, gap } = options;
  const isWeighted = [weights, weighting, alpha, gap].some((value) => value !== undefined);
  return {
    ...resolved,
    core: {
      ...core,
      ...(isWeighted ? groupingConfig(options) : {}),
      strategy: resolved.core.strategy,
      groupSize,
      localSteps,
      eager,
      collective,
      filter,
      connectivityGroups,
      minWorkers: workerCount,
      maxLocalSteps: steps,
      ledger: null,
      checkpoints: null,
      restored: null,
      evaluateEverySamples: null,
    },
  };
}

function figuresOf(summary: RunSummary): ReplayFigures {
  const { wallSeconds, groups, updates, localSteps, idleShare, reduceShare, stepsPerWorker } = summary;
  const updateMs = (1000 * wallSeconds) / updates;
  return { wallSeconds, groups, updates, localSteps, updateMs, idleShare, reduceShare, stepsPerWorker };
}
