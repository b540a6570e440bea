/**
 * What an optimizer is, and stochastic gradient descent with momentum, in PyTorch's form: v = momentum * v + g,
 * x -= learningRate * v. A change of the learning rate therefore acts at once, on the whole velocity.
 */
import { assert } from '../base/assert.js';

/** Turns gradients into updates of the flat parameter vector. */
export interface Optimizer {
  /** Updates `parameters` in place; `gradient`, of the same length, is only read. */
  step(parameters: Float32Array, gradient: Float32Array, learningRate: number): void;
  /** What the optimizer remembers between steps, for checkpoints and joiners: read it or overwrite it in place. */
  readonly state: Float32Array;
  /** Forgets everything. */
  reset(): void;
}

export interface SgdOptions {
  /** 0 (no momentum, no state) to below 1. */
  readonly momentum: number;
  /** Looks ahead: steps along g + momentum * v (Sutskever et al., ICML 2013). Needs momentum. Default false. */
  readonly nesterov?: boolean;
  /** Adds this multiple of the parameters to the gradient. Default 0. */
  readonly weightDecay?: number;
}

/** SGD for a vector of `length` parameters. State: the velocity, or empty without momentum. */
export function createSgd(length: number, options: SgdOptions): Optimizer {
  const { momentum, nesterov = false, weightDecay = 0 } = options;
  assert(momentum >= 0 && momentum < 1, `momentum lies in [0, 1), not at ${momentum}`);
  assert(weightDecay >= 0, `weight decay is not negative, as ${weightDecay} is`);
  assert(!nesterov || momentum > 0, 'Nesterov needs momentum above 0');
  const velocity = new Float32Array(momentum === 0 ? 0 : length);
  const stepWithMomentum = nesterov ? stepNesterov : stepClassic;
  return {
    state: velocity,
    step(parameters, gradient, learningRate) {
      assert(parameters.length === length && gradient.length === length, `SGD steps on ${length} parameters`);
      if (momentum === 0) stepPlain(parameters, gradient, learningRate, weightDecay);
      else stepWithMomentum(parameters, gradient, velocity, { learningRate, momentum, weightDecay });
    },
    reset() {
      velocity.fill(0);
    },
  };
}

function stepPlain(x: Float32Array, g: Float32Array, learningRate: number, weightDecay: number): void {
  for (let i = 0; i < x.length; i += 1) {
    const value = x[i] as number;
    x[i] = value - learningRate * ((g[i] as number) + weightDecay * value);
  }
}

interface SgdRates {
  readonly learningRate: number;
  readonly momentum: number;
  readonly weightDecay: number;
}

function stepClassic(x: Float32Array, g: Float32Array, v: Float32Array, rates: SgdRates): void {
  const { learningRate, momentum, weightDecay } = rates;
  for (let i = 0; i < x.length; i += 1) {
    const value = x[i] as number;
    const velocity = momentum * (v[i] as number) + (g[i] as number) + weightDecay * value;
    v[i] = velocity;
    x[i] = value - learningRate * velocity;
  }
}

function stepNesterov(x: Float32Array, g: Float32Array, v: Float32Array, rates: SgdRates): void {
  const { learningRate, momentum, weightDecay } = rates;
  for (let i = 0; i < x.length; i += 1) {
    const value = x[i] as number;
    const gradient = (g[i] as number) + weightDecay * value;
    const velocity = momentum * (v[i] as number) + gradient;
    v[i] = velocity;
    x[i] = value - learningRate * (gradient + momentum * velocity);
  }
}
