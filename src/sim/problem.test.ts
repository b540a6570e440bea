import { describe, expect, it } from 'vitest';
import { createRandom } from '../base/random.js';
import { type Problem, PROBLEM_NAMES, type ProblemOptions, PROBLEMS } from './problem.js';

const options: ProblemOptions = { seed: 1, workerCount: 3, batchSamples: 64, dimension: 6, noise: 0, spread: 0 };

function descend(problem: Problem, worker: number, rate: number): Float32Array {
  const x = problem.initial();
  const gradient = new Float32Array(x.length);
  const random = createRandom(5);
  for (let step = 0; step < 2000; step += 1) {
    problem.gradient(x, worker, random, gradient);
    for (let i = 0; i < x.length; i += 1) x[i] = (x[i] as number) - rate * (gradient[i] as number);
  }
  return x;
}

describe.each(PROBLEM_NAMES)('%s', (name) => {
  it('is the same for the same seed, another for another', () => {
    const at = Float32Array.from({ length: PROBLEMS[name].dimension ?? 6 }, (_, i) => (i % 4) / 4);
    const [a, b, c] = [1, 1, 2].map((seed) => PROBLEMS[name].create({ ...options, seed }).evaluate(at));
    expect(a).toEqual(b);
    expect(a).not.toEqual(c);
  });

  it('has gradients that lead to lower losses', () => {
    const problem = PROBLEMS[name].create(options);
    const before = problem.evaluate(problem.initial());
    const after = problem.evaluate(descend(problem, 0, 0.2));
    expect(after.loss).toBeLessThan(0.8 * before.loss);
  });
});

describe('quadratic', () => {
  it('has its optimum at loss 0', () => {
    const problem = PROBLEMS.quadratic.create(options);
    expect(problem.evaluate(descend(problem, 0, 0.5)).loss).toBeLessThan(1e-9);
  });

  it('draws each worker to its own optimum, whose mean is the common one', () => {
    const problem = PROBLEMS.quadratic.create({ ...options, spread: 1 });
    const ends = [0, 1, 2].map((worker) => descend(problem, worker, 0.5));
    const mean = Float32Array.from({ length: 6 }, (_, i) => ends.reduce((sum, x) => sum + (x[i] as number) / 3, 0));
    for (const end of ends) expect(problem.evaluate(end).loss).toBeGreaterThan(0.01);
    expect(problem.evaluate(mean).loss).toBeLessThan(1e-9);
  });

  it('has noise whose variance falls with the batch', () => {
    const deviation = (batchSamples: number): number => {
      const problem = PROBLEMS.quadratic.create({ ...options, batchSamples, noise: 2 });
      const random = createRandom(3);
      const [x, still, noisy] = [problem.initial(), new Float32Array(6), new Float32Array(6)];
      PROBLEMS.quadratic.create(options).gradient(x, 0, random, still);
      let square = 0;
      for (let i = 0; i < 2000; i += 1) {
        problem.gradient(x, 0, random, noisy);
        square += ((noisy[0] as number) - (still[0] as number)) ** 2 / 2000;
      }
      return Math.sqrt(square);
    };
    expect(deviation(1)).toBeCloseTo(2, 0);
    expect(deviation(16)).toBeCloseTo(0.5, 1);
  });
});

describe('logistic', () => {
  it('is half right before training, far better after', () => {
    const problem = PROBLEMS.logistic.create(options);
    expect(problem.evaluate(problem.initial()).loss).toBeCloseTo(Math.log(2), 6);
    expect(problem.evaluate(descend(problem, 0, 0.2)).accuracy).toBeGreaterThan(0.75);
  });

  // The oracle: the difference quotient of the loss over all of the data is the mean of many batches' gradients.
  it('has gradients in the direction of steepest ascent', () => {
    const problem = PROBLEMS.logistic.create({ ...options, batchSamples: 50_000 });
    const x = new Float32Array(6).fill(0.3);
    const gradient = new Float32Array(6);
    problem.gradient(x, 0, createRandom(2), gradient);
    for (let i = 0; i < 6; i += 1) {
      const [up, down] = [0.01, -0.01].map((h) => {
        const moved = x.slice();
        moved[i] = (moved[i] as number) + h;
        return problem.evaluate(moved).loss;
      }) as [number, number];
      // Training and test samples differ.
      expect(Math.abs((up - down) / 0.02 - (gradient[i] as number))).toBeLessThan(0.04);
    }
  });
});

describe('network', () => {
  const batch = { ...options, batchSamples: 20_000 };

  it('tells most samples apart after training', () => {
    const problem = PROBLEMS.network.create(options);
    expect(problem.evaluate(problem.initial()).accuracy).toBeLessThan(0.4);
    expect(problem.evaluate(descend(problem, 0, 0.3)).accuracy).toBeGreaterThan(0.9);
  });

  // The oracle: the difference quotient of the loss; training and test samples differ, so it is looked at where slopes are steep.
  it('has gradients in the direction of steepest ascent', () => {
    const problem = PROBLEMS.network.create(batch);
    const x = problem.initial();
    const gradient = new Float32Array(x.length);
    problem.gradient(x, 0, createRandom(2), gradient);
    const steepest = [...gradient.keys()].toSorted(
      (a, b) => Math.abs(gradient[b] as number) - Math.abs(gradient[a] as number),
    );
    // The first and the last parameter lie in the two layers.
    for (const i of [...steepest.slice(0, 10), 0, x.length - 1]) {
      const [up, down] = [0.01, -0.01].map((h) => {
        const moved = x.slice();
        moved[i] = (moved[i] as number) + h;
        return problem.evaluate(moved).loss;
      }) as [number, number];
      expect(Math.abs((up - down) / 0.02 - (gradient[i] as number)), `parameter ${i}`).toBeLessThan(0.05);
    }
  });

  it('is worse at the mean of two that have gone apart than at either', () => {
    const problem = PROBLEMS.network.create(options);
    // The same network with its hidden units in another order: as good, and far away.
    const trained = descend(problem, 0, 0.3);
    const other = withHiddenUnitsReversed(trained);
    const mean = trained.map((value, i) => (value + (other[i] as number)) / 2);
    const loss = problem.evaluate(trained).loss;
    expect(problem.evaluate(other).loss).toBeCloseTo(loss, 4);
    expect(problem.evaluate(mean).loss).toBeGreaterThan(2 * loss);
  });
});

/** Ten inputs, sixteen hidden units, six classes: weights of the units, their biases, weights of the classes, theirs. */
function withHiddenUnitsReversed(x: Float32Array): Float32Array {
  const [inputs, hidden, classes] = [10, 16, 6];
  const reversed = x.slice();
  for (let unit = 0; unit < hidden; unit += 1) {
    const from = hidden - 1 - unit;
    reversed.set(x.subarray(from * inputs, (from + 1) * inputs), unit * inputs);
    const biases = inputs * hidden;
    reversed[biases + unit] = x[biases + from] as number;
    for (let label = 0; label < classes; label += 1) {
      const row = biases + hidden + label * hidden;
      reversed[row + unit] = x[row + from] as number;
    }
  }
  return reversed;
}
