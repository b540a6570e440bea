/**
 * Learning rate, schedule and optimizer of a run: the workload's defaults, what was asked for, and the check that the
 * two go together.
 */
import { PreduceError } from '../base/errors.js';
import { unknownNameMessage } from '../base/nearest.js';
import type { TrainingConfig } from './config.js';
import { OPTIMIZER_NAMES } from './create-optimizer.js';
import { createSchedule, SCHEDULE_NAMES, type ScheduleConfig, warmUpSamplesOf } from './schedule.js';
import type { Workload } from './workload.js';

export interface OptimizationOptions {
  /** Default: the workload's; 0.001 with AdamW. */
  readonly learningRate?: number;
  /** `constant` (default), `step` or `cosine`: all but the first need a run whose length is known. */
  readonly schedule?: string;
  /** Linear growth of the rate at the start: below 1 a share of the run, from 1 on samples of all workers. Default 0. */
  readonly warmUp?: number;
  /** `sgd` (default) or `adamw`. */
  readonly optimizer?: string;
  /** Of SGD. Default: the workload's. */
  readonly momentum?: number;
  /** Of SGD. Default false. */
  readonly nesterov?: boolean;
  /** Default 0; 0.01 with AdamW. */
  readonly weightDecay?: number;
  /** Partial reduce averages the optimizers' states, too. Default false: they stay local. */
  readonly averageOptimizer?: boolean;
}

export type Optimization = Pick<
  TrainingConfig,
  'learningRate' | 'schedule' | 'optimizer' | 'momentum' | 'nesterov' | 'weightDecay' | 'averageOptimizer'
>;

/** PyTorch's. The workloads' rates are those of SGD, far too high for steps of one size. */
const ADAMW_LEARNING_RATE = 0.001;
const ADAMW_WEIGHT_DECAY = 0.01;

function badOption(message: string): PreduceError {
  return new PreduceError('bad-option', message);
}

function oneOf<T extends string>(flag: string, known: readonly T[], name: string): T {
  const found = known.find((each) => each === name);
  if (found === undefined) throw badOption(unknownNameMessage(`value of ${flag}`, name, known));
  return found;
}

/** `runSamples`: samples of all workers in the run; null: not known. Throws `bad-option`. */
export function resolveOptimization(
  options: OptimizationOptions,
  { defaults, runSamples }: { readonly defaults: Workload['defaults']; readonly runSamples: number | null },
): Optimization {
  const optimizer = oneOf('--optimizer', OPTIMIZER_NAMES, options.optimizer ?? 'sgd');
  const isSgd = optimizer === 'sgd';
  const learningRate = options.learningRate ?? (isSgd ? defaults.learningRate : ADAMW_LEARNING_RATE);
  if (!Number.isFinite(learningRate) || learningRate <= 0) {
    throw badOption(`--lr: expected a number above 0, got ${learningRate}`);
  }
  const weightDecay = options.weightDecay ?? (isSgd ? 0 : ADAMW_WEIGHT_DECAY);
  if (!Number.isFinite(weightDecay) || weightDecay < 0) {
    throw badOption(`--weight-decay: expected a number of at least 0, got ${weightDecay}`);
  }
  const schedule: ScheduleConfig = {
    name: oneOf('--schedule', SCHEDULE_NAMES, options.schedule ?? 'constant'),
    warmUpSamples: warmUpSamplesOf(options.warmUp ?? 0, runSamples),
    runSamples,
  };
  createSchedule(schedule);
  return {
    learningRate,
    schedule,
    optimizer,
    ...resolveMomentum(options, isSgd ? defaults.momentum : null),
    weightDecay,
    averageOptimizer: options.averageOptimizer ?? false,
  };
}

/** `standard`: the momentum of the workload; null: the optimizer has none to set. */
function resolveMomentum(
  options: OptimizationOptions,
  standard: number | null,
): Pick<Optimization, 'momentum' | 'nesterov'> {
  const nesterov = options.nesterov ?? false;
  if (standard === null) {
    if (options.momentum === undefined && !nesterov) return { momentum: 0, nesterov };
    const flag = nesterov ? '--nesterov' : '--momentum';
    throw badOption(`${flag}: expected --optimizer sgd, which it belongs to, got adamw`);
  }
  const momentum = options.momentum ?? standard;
  if (!(momentum >= 0 && momentum < 1)) {
    throw badOption(`--momentum: expected a number from 0 to below 1, got ${momentum}`);
  }
  if (nesterov && momentum === 0) throw badOption('--nesterov: expected --momentum above 0, got 0');
  return { momentum, nesterov };
}

/** In words, for reports. */
export function describeOptimization(optimization: Optimization): string {
  const { learningRate, schedule, optimizer, momentum, nesterov, weightDecay, averageOptimizer } = optimization;
  const parts: readonly (string | null)[] = [
    optimizer === 'sgd' ? 'SGD' : 'AdamW',
    `learning rate ${learningRate}`,
    schedule.name === 'constant' ? null : `${schedule.name} schedule`,
    schedule.warmUpSamples === 0
      ? null
      : `warm-up of ${Math.ceil(schedule.warmUpSamples).toLocaleString('en-US')} samples`,
    optimizer === 'sgd' ? `${nesterov ? 'Nesterov momentum' : 'momentum'} ${momentum}` : null,
    weightDecay === 0 ? null : `weight decay ${weightDecay}`,
    averageOptimizer ? 'state averaged' : null,
  ];
  return parts.filter((part) => part !== null).join(', ');
}
