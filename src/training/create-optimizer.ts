/**
 * The optimizer that a run's settings ask for.
 */
import { createSgd, type Optimizer } from '../engine/optimizer.js';
import { createAdamW } from '../engine/optimizer-adamw.js';
import type { TrainingConfig } from './config.js';

export const OPTIMIZER_NAMES = ['sgd', 'adamw'] as const;

export type OptimizerName = (typeof OPTIMIZER_NAMES)[number];

/** An optimizer of `length` parameters, with nothing to remember yet. */
export function createOptimizer(
  length: number,
  config: Pick<TrainingConfig, 'optimizer' | 'momentum' | 'nesterov' | 'weightDecay'>,
): Optimizer {
  const { momentum, nesterov, weightDecay } = config;
  switch (config.optimizer) {
    case 'sgd':
      return createSgd(length, { momentum, nesterov, weightDecay });
    case 'adamw':
      return createAdamW(length, { weightDecay });
    default:
      return config.optimizer satisfies never;
  }
}
