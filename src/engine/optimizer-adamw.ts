/**
 * AdamW (Loshchilov and Hutter, ICLR 2019): Adam with weight decay apart from the gradient's averages. Form and
 * defaults are PyTorch's, whose decay is scaled by the learning rate.
 */
import { assert } from '../base/assert.js';
import type { Optimizer } from './optimizer.js';

export interface AdamWOptions {
  /** Share of the old mean of the gradient that a step keeps, in [0, 1). Default 0.9. */
  readonly beta1?: number;
  /** The same for the mean of the squared gradient. Default 0.999. */
  readonly beta2?: number;
  /** Added to the root of the mean square, above 0. Default 1e-8. */
  readonly epsilon?: number;
  /** A step first shrinks the parameters by this multiple of the learning rate. Default 0.01. */
  readonly weightDecay?: number;
}

/**
 * AdamW for a vector of `length` parameters. State, of 2 * `length` + 1 elements: the gradient's mean, its mean square
 * and the number of steps (which float32 counts to 2^24; by then it has no effect any more).
 */
export function createAdamW(length: number, options: AdamWOptions = {}): Optimizer {
  const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0.01 } = options;
  assert(beta1 >= 0 && beta1 < 1, `beta1 lies in [0, 1), not at ${beta1}`);
  assert(beta2 >= 0 && beta2 < 1, `beta2 lies in [0, 1), not at ${beta2}`);
  assert(epsilon > 0, `epsilon lies above 0, not at ${epsilon}`);
  assert(weightDecay >= 0, `weight decay is not negative, as ${weightDecay} is`);
  const state = new Float32Array(2 * length + 1);
  const means: Means = {
    first: state.subarray(0, length),
    second: state.subarray(length, 2 * length),
    beta1,
    beta2,
  };
  const steps = state.subarray(2 * length);
  return {
    state,
    step(parameters, gradient, learningRate) {
      assert(parameters.length === length && gradient.length === length, `AdamW steps on ${length} parameters`);
      const count = (steps[0] as number) + 1;
      steps[0] = count;
      // Both means start at zero and hold this share of what they estimate.
      const firstShare = 1 - beta1 ** count;
      const secondShare = 1 - beta2 ** count;
      stepAdamW(parameters, gradient, means, {
        kept: 1 - learningRate * weightDecay,
        rate: learningRate / firstShare,
        scale: 1 / Math.sqrt(secondShare),
        epsilon,
      });
    },
    reset() {
      state.fill(0);
    },
  };
}

interface Means {
  readonly first: Float32Array;
  readonly second: Float32Array;
  readonly beta1: number;
  readonly beta2: number;
}

interface AdamWRates {
  readonly kept: number;
  readonly rate: number;
  readonly scale: number;
  readonly epsilon: number;
}

function stepAdamW(x: Float32Array, g: Float32Array, means: Means, rates: AdamWRates): void {
  const { first, second, beta1, beta2 } = means;
  const { kept, rate, scale, epsilon } = rates;
  for (let i = 0; i < x.length; i += 1) {
    const gradient = g[i] as number;
    const mean = beta1 * (first[i] as number) + (1 - beta1) * gradient;
    const square = beta2 * (second[i] as number) + (1 - beta2) * gradient * gradient;
    first[i] = mean;
    second[i] = square;
    x[i] = kept * (x[i] as number) - (rate * mean) / (Math.sqrt(square) * scale + epsilon);
  }
}
