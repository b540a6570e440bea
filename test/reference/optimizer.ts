/**
 * Random steps on which an optimizer is compared with its float64 reference.
 */
import { createRandom } from '../../src/base/random.js';
import type { Optimizer } from '../../src/engine/optimizer.js';

export interface Steps {
  readonly start: Float32Array;
  /** One per step. */
  readonly gradients: readonly Float32Array[];
  readonly rates: readonly number[];
  /** The gradients of the parameter at `index`, step by step. */
  perParameter(index: number): number[];
}

/** Gradients with a drift, so that means and velocities build up, and learning rates that change from step to step. */
export function drawSteps({ length, count }: { length: number; count: number }): Steps {
  const random = createRandom(length + count);
  const gradients = Array.from({ length: count }, () =>
    Float32Array.from({ length }, (_, i) => 0.3 * (i - 1) + random.normal()),
  );
  return {
    start: Float32Array.from({ length }, () => random.normal()),
    gradients,
    rates: Array.from({ length: count }, (_, step) => 0.01 / (1 + (step % 4))),
    perParameter: (index) => gradients.map((gradient) => gradient[index] as number),
  };
}

/** Takes the steps and returns the parameters. */
export function runSteps(optimizer: Optimizer, { start, gradients, rates }: Steps): Float32Array {
  const parameters = start.slice();
  gradients.forEach((gradient, step) => optimizer.step(parameters, gradient, rates[step] as number));
  return parameters;
}
