/**
 * A server's part of the parameters and what it does with a group's weighted gradients (algorithms.md 6): x <- x - lr * sum, through
 * the run's optimizer, whose state lives here. Momentum and Adam see the weighted sum as the gradient; SGD's weight decay is
 * weighted as the gradients are, so that N pushes of 1 / N decay as much as one step of their mean.
 *
 * Running statistics (behind the parameters) are no gradients: workers send theirs, and x moves towards them by the weights.
 */
import { isFiniteVector } from '../base/finite.js';
import type { GroupId } from '../base/ids.js';
import type { Optimizer } from '../engine/optimizer.js';
import type { TrainingConfig } from './config.js';
import { createOptimizer } from './create-optimizer.js';

export interface ServerShardOptions {
  /** The initial values; owned by the shard from now on. */
  readonly values: Float32Array;
  /** How many of them are parameters; the others, at the end, are running statistics. */
  readonly parameterCount: number;
  readonly optimizer: Pick<TrainingConfig, 'optimizer' | 'momentum' | 'nesterov' | 'weightDecay'>;
}

/** What a group brings. */
export interface Push {
  readonly group: GroupId;
  /** One a member. */
  readonly weights: readonly number[];
  readonly learningRate: number;
}

export interface ServerShard {
  readonly values: Float32Array;
  /** Applies the weighted sum and overwrites it with the new values. With no weight, or a sum that is not finite, these are the old ones. */
  push(sum: Float32Array, push: Push): void;
  /** Takes back the update of this group if it was the last. Gives whether it was. */
  undo(group: GroupId): boolean;
}

export function createServerShard({ values, parameterCount, optimizer: settings }: ServerShardOptions): ServerShard {
  // Adam's decay does not pass through the gradient.
  const decay = settings.optimizer === 'sgd' ? settings.weightDecay : 0;
  const optimizer: Optimizer = createOptimizer(parameterCount, {
    ...settings,
    weightDecay: settings.weightDecay - decay,
  });
  const parameters = values.subarray(0, parameterCount);
  const before = { values: values.slice(), state: optimizer.state.slice() };
  let last: GroupId | null = null;

  function apply(sum: Float32Array, weight: number, learningRate: number): void {
    const gradient = sum.subarray(0, parameterCount);
    if (decay !== 0) {
      const factor = decay * weight;
      for (let i = 0; i < parameterCount; i += 1) (gradient[i] as number) += factor * (parameters[i] as number);
    }
    optimizer.step(parameters, gradient, learningRate);
    for (let i = parameterCount; i < values.length; i += 1) {
      values[i] = (1 - weight) * (values[i] as number) + (sum[i] as number);
    }
  }

  return {
    values,
    push(sum, { group, weights, learningRate }) {
      const weight = weights.reduce((total, each) => total + each, 0);
      if (weight > 0 && isFiniteVector(sum)) {
        before.values.set(values);
        before.state.set(optimizer.state);
        last = group;
        apply(sum, weight, learningRate);
      }
      sum.set(values);
    },
    undo(group) {
      if (group !== last) return false;
      values.set(before.values);
      optimizer.state.set(before.state);
      last = null;
      return true;
    },
  };
}
