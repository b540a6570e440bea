/**
 * Logistic regression on synthetic data: normal features, labels drawn from a logistic model with known weights, so that no
 * classifier is perfect. Training and test samples come from the same model; every worker draws its batches from the whole
 * training set, with replacement.
 *
 * Noise and spread of `ProblemOptions` do not apply: the sampling is the noise.
 */
import { createRandom, type Random } from '../base/random.js';
import type { Problem, ProblemOptions } from './problem.js';

const TRAIN_SAMPLES = 8192;
const TEST_SAMPLES = 2048;
/** Length of the true weights: how far the classes lie apart. */
const SIGNAL = 3;

interface Samples {
  readonly count: number;
  /** Row by row. */
  readonly features: Float32Array;
  /** 0 or 1. */
  readonly labels: Uint8Array;
}

function sigmoid(z: number): number {
  return 1 / (1 + Math.exp(-z));
}

/** The last parameter is the bias. */
function logit(x: Float32Array, features: Float32Array, row: number): number {
  const width = x.length - 1;
  let z = x[width] as number;
  for (let i = 0; i < width; i += 1) z += (x[i] as number) * (features[row * width + i] as number);
  return z;
}

function draw(count: number, truth: Float32Array, random: Random): Samples {
  const width = truth.length - 1;
  const features = Float32Array.from({ length: count * width }, () => random.normal());
  const labels = Uint8Array.from({ length: count }, (_, row) =>
    Number(random.next() < sigmoid(logit(truth, features, row))),
  );
  return { count, features, labels };
}

export function createLogistic({ seed, batchSamples, dimension }: ProblemOptions): Problem {
  const random = createRandom(seed).fork(0);
  const width = dimension - 1;
  const truth = Float32Array.from({ length: dimension }, () => (SIGNAL * random.normal()) / Math.sqrt(dimension));
  const train = draw(TRAIN_SAMPLES, truth, random);
  const test = draw(TEST_SAMPLES, truth, random);

  return {
    dimension,
    initial: () => new Float32Array(dimension),
    gradient(x, _worker, draws, into) {
      into.fill(0);
      for (let sample = 0; sample < batchSamples; sample += 1) {
        const row = draws.below(train.count);
        const error = (sigmoid(logit(x, train.features, row)) - (train.labels[row] as number)) / batchSamples;
        for (let i = 0; i < width; i += 1) {
          into[i] = (into[i] as number) + error * (train.features[row * width + i] as number);
        }
        into[width] = (into[width] as number) + error;
      }
    },
    evaluate(x) {
      let loss = 0;
      let right = 0;
      for (let row = 0; row < test.count; row += 1) {
        const z = logit(x, test.features, row);
        const isOne = test.labels[row] === 1;
        // log(1 + e^-z) of the true class, in the form that does not overflow
        const margin = isOne ? z : -z;
        loss += Math.max(0, -margin) + Math.log1p(Math.exp(-Math.abs(margin)));
        if (z > 0 === isOne) right += 1;
      }
      return { loss: loss / test.count, accuracy: right / test.count };
    },
  };
}
