/**
 * The flags that `train` and `compare` share, and what they mean for a run.
 */
import { type Command, Option } from 'commander';
import {
  COLLECTIVE_CHOICES,
  type CollectiveChoice,
  EAGER_RULES,
  type EagerRule,
  ROBUST_RULES,
  type RobustRule,
} from '../core/config.js';
import type { GroupingOptions } from '../core/grouping-options.js';
import type { RunOptions } from '../launch/run-options.js';
import { OPTIMIZER_NAMES, type OptimizerName } from '../training/create-optimizer.js';
import { SCHEDULE_NAMES, type ScheduleName } from '../training/schedule.js';
import { defined } from './defined.js';
import { addGroupingFlags, addServerFlags } from './grouping-flags.js';
import { addConfigFlag } from './option-sources.js';
import { collect, duration, oneOf, path, realNumber, wholeNumber } from './parse.js';

/** As commander hands them over. */
export interface RunFlags extends GroupingOptions {
  readonly workload?: string;
  readonly data?: string;
  readonly workers?: number;
  readonly minWorkers?: number;
  readonly groupSize?: number;
  readonly localSteps?: number;
  readonly eager?: EagerRule;
  readonly collective?: CollectiveChoice;
  readonly robust?: RobustRule;
  readonly servers?: number;
  readonly staleness?: number;
  readonly backups?: number;
  readonly liveness?: number;
  readonly evaluateEvery?: number;
  readonly slow?: readonly string[];
  readonly epochs?: number;
  readonly steps?: number;
  readonly duration?: number;
  readonly targetAccuracy?: number;
  readonly batchSize?: number;
  readonly leaseBatches?: number;
  readonly lr?: number;
  readonly schedule?: ScheduleName;
  readonly warmUp?: number;
  readonly optimizer?: OptimizerName;
  readonly momentum?: number;
  readonly nesterov?: boolean;
  readonly weightDecay?: number;
  readonly averageOptimizer?: boolean;
  readonly seed?: number;
  readonly threads?: number;
  readonly out?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** Adds the flags to a command. */
export function addRunFlags(command: Command, defaultWorkload?: string): Command {
  const sized = addConfigFlag(command)
    .option('--workload <name>', 'what to train, see `preduce workloads`', defaultWorkload)
    .option('--data <dir>', 'where its data lies (default: what the package ships)', path('--data'))
    .option('--workers <n>', 'worker processes (default: 4)', wholeNumber('--workers'))
    .option(
      '--min-workers <n>',
      'pause below so many workers, until more have joined (default: 1)',
      wholeNumber('--min-workers'),
    )
    .option('--group-size <p>', 'workers of one partial reduce (default: 2)', wholeNumber('--group-size'))
    .option('--local-steps <h>', 'local SGD: steps between two averages (default: 8)', wholeNumber('--local-steps'))
    .option('--eager <rule>', 'eager-reduce: majority (default) or solo begins a round', oneOf('--eager', EAGER_RULES));
  const grouped = addGroupingFlags(sized)
    .option(
      '--collective <name>',
      'how a group averages: auto (default), direct or ring',
      oneOf('--collective', COLLECTIVE_CHOICES),
    )
    .option(
      '--robust <rule>',
      'clip: bound workers whose values are far from the rest of their group; none (default)',
      oneOf('--robust', ROBUST_RULES),
    );
  return addServerFlags(grouped)
    .option(
      '--slow <spec>',
      'emulate a slow device, repeatable: hl:3, straggler:3,4, random:.1,100ms, lognormal:.5',
      collect,
    )
    .option('--epochs <e>', 'passes over the data, all workers together', wholeNumber('--epochs'))
    .option('--steps <k>', 'local steps, all workers together', wholeNumber('--steps'))
    .option('--duration <time>', 'length of the run, like 60s', duration('--duration'))
    .option('--target-accuracy <a>', 'test accuracy to reach, a share like .97', realNumber('--target-accuracy'))
    .option('--evaluate-every <samples>', 'samples between two evaluations', wholeNumber('--evaluate-every'))
    .option('--batch-size <m>', 'samples of one local step', wholeNumber('--batch-size'))
    .option(
      '--lease-batches <l>',
      'batches that a worker takes from the ledger at a time (default: 4)',
      wholeNumber('--lease-batches'),
    )
    .option('--lr <g>', 'learning rate', realNumber('--lr'))
    .option(
      '--schedule <name>',
      'course of the learning rate: constant (default), step or cosine',
      oneOf('--schedule', SCHEDULE_NAMES),
    )
    .option(
      '--warm-up <share>',
      'linear warm-up of the learning rate: a share of the run below 1, or samples',
      realNumber('--warm-up'),
    )
    .option('--optimizer <name>', 'sgd (default) or adamw', oneOf('--optimizer', OPTIMIZER_NAMES))
    .option('--momentum <m>', 'momentum of SGD', realNumber('--momentum'))
    .option('--nesterov', 'Nesterov momentum')
    .option('--weight-decay <d>', 'weight decay (default: 0; adamw: 0.01)', realNumber('--weight-decay'))
    .option('--average-optimizer', "partial reduce averages the optimizers' states, too (default: they stay local)")
    .option('--seed <s>', 'decides the initial model and the order of the data (default: 1)', wholeNumber('--seed'))
    .option('--threads <t>', "the engine's threads in each worker (default: 1)", wholeNumber('--threads'))
    .option('--liveness <time>', 'how long a silent worker keeps its place (default: 5s)', duration('--liveness'))
    .option('--out <dir>', 'run directory (default: runs/TIME-NAME)', path('--out'))
    .option('--json', 'print one JSON object on stdout, at the end')
    .option('--quiet', 'no progress')
    .addOption(new Option('--debug', 'show stack traces').hideHelp());
}

/** The run that the flags ask for. */
export function runOptionsOf(flags: RunFlags): RunOptions {
  return defined({
    workload: flags.workload,
    dataDirectory: flags.data,
    workers: flags.workers,
    minWorkers: flags.minWorkers,
    groupSize: flags.groupSize,
    localSteps: flags.localSteps,
    eager: flags.eager,
    weights: flags.weights,
    weighting: flags.weighting,
    collective: flags.collective,
    robust: flags.robust,
    servers: flags.servers,
    staleness: flags.staleness,
    backups: flags.backups,
    alpha: flags.alpha,
    gap: flags.gap,
    filter: flags.filter,
    connectivityGroups: flags.connectivityGroups,
    livenessMs: flags.liveness,
    evaluateEverySamples: flags.evaluateEvery,
    slow: flags.slow,
    epochs: flags.epochs,
    steps: flags.steps,
    durationMs: flags.duration,
    targetAccuracy: flags.targetAccuracy,
    batchSamples: flags.batchSize,
    leaseBatches: flags.leaseBatches,
    learningRate: flags.lr,
    schedule: flags.schedule,
    warmUp: flags.warmUp,
    optimizer: flags.optimizer,
    momentum: flags.momentum,
    nesterov: flags.nesterov,
    weightDecay: flags.weightDecay,
    averageOptimizer: flags.averageOptimizer,
    seed: flags.seed,
    threads: flags.threads,
  });
}
