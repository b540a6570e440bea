/**
 * A noisy quadratic, f(x) = 1/2 sum of a_i (x_i - c_i)^2, the usual model of SGD near an optimum (Zhang et al., "Which
 * algorithmic choices matter at which batch sizes? Insights from a noisy quadratic model", NeurIPS 2019). The curvatures a_i fall
 * geometrically from 1 to 1/20. A batch's gradient is that of f plus normal noise whose variance falls with the batch size.
 *
 * With a spread each worker has an optimum of its own, the mean of all being c: workers that never hear of each other
 * then come to rest at different points.
 */
import { createRandom } from '../base/random.js';
import type { Problem, ProblemOptions } from './problem.js';

const CONDITION = 20;

export function createQuadratic(options: ProblemOptions): Problem {
  const { seed, workerCount, batchSamples, dimension, noise, spread } = options;
  const random = createRandom(seed).fork(0);
  const curvatures = Float64Array.from({ length: dimension }, (_, i) => CONDITION ** (-i / Math.max(1, dimension - 1)));
  const optimum = Float64Array.from({ length: dimension }, () => random.normal());
  const optima = spread === 0 ? null : ownOptima();
  const noiseOfBatch = noise / Math.sqrt(batchSamples);

  /** Worker by worker; their mean is the optimum. */
  function ownOptima(): Float64Array {
    const all = Float64Array.from({ length: workerCount * dimension }, () => spread * random.normal());
    for (let i = 0; i < dimension; i += 1) {
      let mean = 0;
      for (let j = i; j < all.length; j += dimension) mean += (all[j] as number) / workerCount;
      for (let j = i; j < all.length; j += dimension) all[j] = (all[j] as number) - mean + (optimum[i] as number);
    }
    return all;
  }

  return {
    dimension,
    initial: () => new Float32Array(dimension),
    gradient(x, worker, draws, into) {
      const target = optima === null ? optimum : optima;
      const offset = optima === null ? 0 : worker * dimension;
      for (let i = 0; i < dimension; i += 1) {
        const slope = (curvatures[i] as number) * ((x[i] as number) - (target[offset + i] as number));
        into[i] = noise === 0 ? slope : slope + noiseOfBatch * draws.normal();
      }
    },
    evaluate(x) {
      let loss = 0;
      for (let i = 0; i < dimension; i += 1) {
        loss += 0.5 * (curvatures[i] as number) * ((x[i] as number) - (optimum[i] as number)) ** 2;
      }
      return { loss, accuracy: null };
    },
  };
}
