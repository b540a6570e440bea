/**
 * What a run's controller is told: all of it data, checked once by `validateCoreConfig`.
 */
import type { LedgerState, Progress } from './group.js';

/** How a group's members are weighted (algorithms.md 4). */
export type WeightRule =
  | { readonly rule: 'constant' }
  | { readonly rule: 'dynamic'; readonly alpha: number; readonly gap: 'freshest' | 'initial' };

/** Whether a member's weight is multiplied by the samples that its replica took in since its last group (algorithms.md 4.3). */
export type Weighting = (typeof WEIGHTINGS)[number];

export const WEIGHTINGS = ['equal', 'samples'] as const;

/** Which groups may form (algorithms.md 3.2). */
export type FilterName = (typeof FILTER_NAMES)[number];

export const FILTER_NAMES = ['epoch', 'window', 'none'] as const;

/** The plan of a collective: what each member sends to whom (collective/plan). `server`: members push to servers and pull from them. */
export type CollectiveName = 'direct' | 'ring' | 'server';

/** `auto`: by the size of each group. */
export type CollectiveChoice = (typeof COLLECTIVE_CHOICES)[number];

export const COLLECTIVE_CHOICES = ['auto', 'direct', 'ring'] as const;

export type StrategyName =
  | 'partial-reduce'
  | 'all-reduce'
  | 'local-sgd'
  | 'eager-reduce'
  | 'ad-psgd'
  | ServerStrategyName;

/** Strategies whose parameters lie at servers (algorithms.md 6). */
export type ServerStrategyName = 'ps-bsp' | 'ps-asp' | 'ps-ssp' | 'ps-backup' | 'ps-hete';

/** Whose READY begins a round of eager-reduce: the first, or that of a worker drawn for the round. */
export type EagerRule = (typeof EAGER_RULES)[number];

export const EAGER_RULES = ['majority', 'solo'] as const;

/** What is done about members of a group that are far from the others (algorithms.md 4.5). */
export type RobustRule = (typeof ROBUST_RULES)[number];

export const ROBUST_RULES = ['none', 'clip'] as const;

/** The training set as the shard ledger sees it (algorithms.md 3.5). */
export interface LedgerConfig {
  /** Samples of the training set. */
  readonly sampleCount: number;
  /** Samples of one local step. */
  readonly batchSamples: number;
  /** Batches of one lease: what a worker takes at a time, and what is redone when it dies. */
  readonly leaseBatches: number;
  /** Passes over the data; null: no end by data. */
  readonly epochs: number | null;
}

/** When checkpoints are asked for, beside at the end of the run; what is null does not ask for any. */
export interface CheckpointConfig {
  /** Samples of all workers between two. */
  readonly everySamples: number | null;
  readonly everyMs: number | null;
}

/** What a run that was cut short had come to, as its checkpoint tells. Its workers bring their replicas. */
export interface RestoredRun {
  readonly progress: Progress;
  readonly ledger: LedgerState | null;
  /** Number of the last checkpoint that there is anything of. */
  readonly checkpoint: number;
}

export interface CoreConfig {
  /** Number of this controller's life, 1 at first; group ids contain it. */
  readonly term: number;
  readonly strategy: StrategyName;
  /** P, 2 or more; all-reduce ignores it and groups every active worker. */
  readonly groupSize: number;
  /** H of local SGD: local steps between two averages. */
  readonly localSteps: number;
  readonly eager: EagerRule;
  /** Decides what strategies draw. */
  readonly seed: number;
  readonly filter: FilterName;
  /** T, in groups; `auto`: 1.5 x the groups formed during the slowest worker's median iteration, 2(N - 1) to 16(N - 1). */
  readonly connectivityGroups: number | 'auto';
  readonly weights: WeightRule;
  readonly weighting: Weighting;
  readonly collective: CollectiveChoice;
  readonly robust: RobustRule;
  /** S, processes that share the parameters; of effect only where the strategy has servers. */
  readonly servers: number;
  /** s of ps-ssp: iterations that a worker may be ahead of the slowest. */
  readonly staleness: number;
  /** b of ps-backup: a round ends without its last b gradients. */
  readonly backups: number;
  /** Workers that must hold the model before anybody computes. */
  readonly minWorkers: number;
  /** Workers that must hold the model and be there for groups to form while the run goes on. */
  readonly minLiveWorkers: number;
  /** How long a suspect keeps its place, in ms; every other time-out derives from it. */
  readonly livenessMs: number;
  /** How long a group may be held for connectivity, in ms; `auto`: 10 x the slowest active worker's median iteration, at least 1 s. */
  readonly holdTimeoutMs: number | 'auto';
  /** Null: workers bring their own data and the run ends by steps, by a stop or when all have left. */
  readonly ledger: LedgerConfig | null;
  /** The run ends once this many local steps were taken by all workers together; null: no such end. */
  readonly maxLocalSteps: number | null;
  /** An evaluation is asked for each time this many samples have been processed; null: never. */
  readonly evaluateEverySamples: number | null;
  /** Null: no checkpoints, also not at the end. */
  readonly checkpoints: CheckpointConfig | null;
  /** Whether `persist` tells of the facts that a controller started again goes on from. */
  readonly persists: boolean;
  /** Null: a run from the beginning. Else every worker until the start is told `seed`, and brings what it had. */
  readonly restored: RestoredRun | null;
}

/** A configuration with every default filled in: partial reduce, P = 2, dynamic weights, two workers, no ledger, no end by steps. */
export function defaultCoreConfig(overrides: Partial<CoreConfig> = {}): CoreConfig {
  return {
    term: 1,
    strategy: 'partial-reduce',
    groupSize: 2,
    localSteps: 8,
    eager: 'majority',
    seed: 1,
    filter: 'epoch',
    connectivityGroups: 'auto',
    weights: { rule: 'dynamic', alpha: 0.9, gap: 'freshest' },
    weighting: 'equal',
    collective: 'auto',
    robust: 'none',
    servers: 1,
    staleness: 3,
    backups: 1,
    minWorkers: 2,
    minLiveWorkers: 1,
    livenessMs: 5000,
    holdTimeoutMs: 'auto',
    ledger: null,
    maxLocalSteps: null,
    evaluateEverySamples: null,
    checkpoints: null,
    persists: false,
    restored: null,
    ...overrides,
  };
}
