/**
 * A small neural network: one hidden layer of tanh units and a softmax, trained to tell classes apart that are each made of several
 * clusters, so that no linear model can. Unlike the other problems its loss is not convex: the mean of replicas that have drifted apart
 * is worse than they are, so it shows what averaging seldom, or with few, costs.
 *
 * Training and test samples come from the same clusters; every worker draws its batches from the whole training set, with
 * replacement. Noise and spread of `ProblemOptions` do not apply: the sampling is the noise.
 */
import { createRandom, type Random } from '../base/random.js';
import type { Problem, ProblemOptions } from './problem.js';

const INPUTS = 10;
const HIDDEN = 16;
const CLASSES = 6;
const CLUSTERS_PER_CLASS = 4;
/** Standard deviation of a cluster's samples; its centre's coordinates have 1. */
const CLUSTER_RADIUS = 0.5;
const TRAIN_SAMPLES = 8192;
const TEST_SAMPLES = 512;

/** Where the parameters lie: weights and biases of the hidden layer, then those of the classes. */
const HIDDEN_BIASES = INPUTS * HIDDEN;
const CLASS_WEIGHTS = HIDDEN_BIASES + HIDDEN;
const CLASS_BIASES = CLASS_WEIGHTS + HIDDEN * CLASSES;

/** Parameters of the network. */
export const NETWORK_DIMENSION = CLASS_BIASES + CLASSES;

interface Samples {
  readonly count: number;
  /** Row by row. */
  readonly inputs: Float32Array;
  readonly classes: Uint8Array;
}

function draw(count: number, centres: Float32Array, random: Random): Samples {
  const inputs = new Float32Array(count * INPUTS);
  const classes = new Uint8Array(count);
  for (let row = 0; row < count; row += 1) {
    const cluster = random.below(CLASSES * CLUSTERS_PER_CLASS);
    classes[row] = cluster % CLASSES;
    for (let i = 0; i < INPUTS; i += 1) {
      inputs[row * INPUTS + i] = (centres[cluster * INPUTS + i] as number) + CLUSTER_RADIUS * random.normal();
    }
  }
  return { count, inputs, classes };
}

/** What the network makes of one sample. */
interface Pass {
  readonly hidden: Float64Array;
  readonly probabilities: Float64Array;
}

/** Writes it. */
function forward(x: Float32Array, { inputs }: Samples, row: number, { hidden, probabilities }: Pass): void {
  for (let unit = 0; unit < HIDDEN; unit += 1) {
    let sum = x[HIDDEN_BIASES + unit] as number;
    for (let i = 0; i < INPUTS; i += 1) {
      sum += (x[unit * INPUTS + i] as number) * (inputs[row * INPUTS + i] as number);
    }
    hidden[unit] = Math.tanh(sum);
  }
  let largest = Number.NEGATIVE_INFINITY;
  for (let label = 0; label < CLASSES; label += 1) {
    let sum = x[CLASS_BIASES + label] as number;
    for (let unit = 0; unit < HIDDEN; unit += 1) {
      sum += (x[CLASS_WEIGHTS + label * HIDDEN + unit] as number) * (hidden[unit] as number);
    }
    probabilities[label] = sum;
    largest = Math.max(largest, sum);
  }
  let total = 0;
  for (let label = 0; label < CLASSES; label += 1) {
    const power = Math.exp((probabilities[label] as number) - largest);
    probabilities[label] = power;
    total += power;
  }
  for (let label = 0; label < CLASSES; label += 1) probabilities[label] = (probabilities[label] as number) / total;
}

/** Adds the gradient of one sample, times `scale`, after its pass, which is used up. */
function backward(
  x: Float32Array,
  { inputs, classes }: Samples,
  row: number,
  { hidden, probabilities }: Pass,
  scale: number,
  into: Float32Array,
): void {
  const label = classes[row] as number;
  probabilities[label] = (probabilities[label] as number) - 1;
  for (let each = 0; each < CLASSES; each += 1) {
    const slope = scale * (probabilities[each] as number);
    const offset = CLASS_WEIGHTS + each * HIDDEN;
    for (let unit = 0; unit < HIDDEN; unit += 1) {
      into[offset + unit] = (into[offset + unit] as number) + slope * (hidden[unit] as number);
    }
    into[CLASS_BIASES + each] = (into[CLASS_BIASES + each] as number) + slope;
  }
  for (let unit = 0; unit < HIDDEN; unit += 1) {
    let slope = 0;
    for (let each = 0; each < CLASSES; each += 1) {
      slope += (probabilities[each] as number) * (x[CLASS_WEIGHTS + each * HIDDEN + unit] as number);
    }
    slope *= scale * (1 - (hidden[unit] as number) ** 2);
    for (let i = 0; i < INPUTS; i += 1) {
      into[unit * INPUTS + i] = (into[unit * INPUTS + i] as number) + slope * (inputs[row * INPUTS + i] as number);
    }
    into[HIDDEN_BIASES + unit] = (into[HIDDEN_BIASES + unit] as number) + slope;
  }
}

export function createNetwork({ seed, batchSamples }: ProblemOptions): Problem {
  const random = createRandom(seed).fork(0);
  const centres = Float32Array.from({ length: CLASSES * CLUSTERS_PER_CLASS * INPUTS }, () => random.normal());
  const train = draw(TRAIN_SAMPLES, centres, random);
  const test = draw(TEST_SAMPLES, centres, random);
  const start = Float32Array.from({ length: NETWORK_DIMENSION }, (_, i) => {
    const isBias = i >= CLASS_BIASES || (i >= HIDDEN_BIASES && i < CLASS_WEIGHTS);
    return isBias ? 0 : random.normal() / Math.sqrt(i < HIDDEN_BIASES ? INPUTS : HIDDEN);
  });
  const pass: Pass = { hidden: new Float64Array(HIDDEN), probabilities: new Float64Array(CLASSES) };

  return {
    dimension: NETWORK_DIMENSION,
    initial: () => start.slice(),
    gradient(x, _worker, draws, into) {
      into.fill(0);
      for (let sample = 0; sample < batchSamples; sample += 1) {
        const row = draws.below(train.count);
        forward(x, train, row, pass);
        backward(x, train, row, pass, 1 / batchSamples, into);
      }
    },
    evaluate(x) {
      let loss = 0;
      let right = 0;
      for (let row = 0; row < test.count; row += 1) {
        forward(x, test, row, pass);
        const own = pass.probabilities[test.classes[row] as number] as number;
        // Never infinite for a replica that is finite.
        loss -= Math.log(Math.max(own, Number.MIN_VALUE));
        if (own === Math.max(...pass.probabilities)) right += 1;
      }
      return { loss: loss / test.count, accuracy: right / test.count };
    },
  };
}
