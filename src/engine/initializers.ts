/**
 * Rules that fill a parameter before training. Each draws from a generator of its own, so that a layer added to a
 * model does not change the values of the others.
 */
import type { Random } from '../base/random.js';

/** Fills `values` (one parameter's part of the flat vector) in place. */
export type Initializer = (values: Float32Array, random: Random) => void;

function uniform(bound: number): Initializer {
  return (values, random) => {
    for (let i = 0; i < values.length; i += 1) values[i] = (2 * random.next() - 1) * bound;
  };
}

/**
 * Uniform with variance 2 / fanIn, which keeps the size of activations through ReLU layers (He et al., ICCV 2015).
 * `fanIn` is the number of inputs that one output sums over.
 */
export function heUniform(fanIn: number): Initializer {
  return uniform(Math.sqrt(6 / fanIn));
}

/** Uniform with variance 1 / fanIn, for a layer with no ReLU behind it (LeCun et al., 1998). */
export function lecunUniform(fanIn: number): Initializer {
  return uniform(Math.sqrt(3 / fanIn));
}

/**
 * Uniform with variance 1 / (3 fanIn): PyTorch's default for its linear and convolution layers. Smaller than He's, so
 * that pooling by the maximum, which enlarges activations, does not give a model strong opinions before it has learnt.
 */
export function pytorchUniform(fanIn: number): Initializer {
  return uniform(Math.sqrt(1 / fanIn));
}

export function constant(value: number): Initializer {
  return (values) => {
    values.fill(value);
  };
}
