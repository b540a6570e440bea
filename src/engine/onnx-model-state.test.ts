/**
 * What a model keeps beside its parameters: running statistics, and the seeds of its masks.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { channelStatistics } from '../../test/reference/batch-norm.js';
import { createRandom } from '../base/random.js';
import { createGraph, type Graph } from './graph.js';
import type { Batch, Model } from './model.js';
import { createModel } from './onnx-model.js';
import { batchNorm } from './ops/batch-norm.js';
import { dropout } from './ops/dropout.js';
import { flatten } from './ops/flatten.js';
import { linear } from './ops/linear.js';
import { softmaxCrossEntropy } from './ops/softmax-cross-entropy.js';

const CHANNELS = 2;
const POSITIONS = 3;
const CLASSES = 2;

function finish(graph: Graph, scores: ReturnType<typeof linear>): Graph {
  graph.setOutcome(scores, softmaxCrossEntropy(graph, scores));
  return graph;
}

function normalised(): Graph {
  const graph = createGraph({ inputShape: [CHANNELS, POSITIONS], classCount: CLASSES });
  const normal = batchNorm(graph, graph.input, { name: 'norm' });
  return finish(graph, linear(graph, flatten(graph, normal), { name: 'scores', outputs: CLASSES }));
}

function dropped(): Graph {
  const graph = createGraph({ inputShape: [CHANNELS * POSITIONS], classCount: CLASSES });
  return finish(graph, linear(graph, dropout(graph, graph.input, 0.5), { name: 'scores', outputs: CLASSES }));
}

const opened: Model[] = [];

async function open(graph: Graph): Promise<Model> {
  const model = await createModel(graph, { seed: 1 });
  opened.push(model);
  return model;
}

afterAll(async () => {
  await Promise.all(opened.map((model) => model.release()));
});

function randomBatch(count: number): Batch {
  const random = createRandom(count);
  return {
    inputs: Float32Array.from({ length: count * CHANNELS * POSITIONS }, () => 2 + 3 * random.normal()),
    labels: Int32Array.from({ length: count }, () => random.below(CLASSES)),
    count,
  };
}

describe('auxiliary tensors', () => {
  it('start as batch-norm wants them, apart from the parameters', async () => {
    const model = await open(normalised());
    expect(model.auxiliaryLayout).toEqual([
      { name: 'norm.running_mean', shape: [CHANNELS] },
      { name: 'norm.running_var', shape: [CHANNELS] },
    ]);
    expect([...model.auxiliary]).toEqual([0, 0, 1, 1]);
    expect(model.layout.map(({ name }) => name)).toEqual(['norm.weight', 'norm.bias', 'scores.weight', 'scores.bias']);
  });

  it('move a tenth of the way to each training batch, and not in evaluation', async () => {
    const model = await open(normalised());
    const expected = [0, 0, 1, 1];
    for (const count of [4, 7]) {
      const batch = randomBatch(count);
      await model.gradient(batch);
      await model.evaluate(randomBatch(5));
      const perChannel = count * POSITIONS;
      channelStatistics(batch.inputs, CHANNELS, POSITIONS).forEach(({ mean, variance }, channel) => {
        const unbiased = (variance * perChannel) / (perChannel - 1);
        expected[channel] = 0.9 * (expected[channel] as number) + 0.1 * mean;
        expected[CHANNELS + channel] = 0.9 * (expected[CHANNELS + channel] as number) + 0.1 * unbiased;
      });
      model.auxiliary.forEach((value, i) => expect(value).toBeCloseTo(expected[i] as number, 4));
    }
  });

  it('are kept apart for layers of one width', async () => {
    const graph = createGraph({ inputShape: [CHANNELS, POSITIONS], classCount: CLASSES });
    const once = batchNorm(graph, graph.input, { name: 'first' });
    const twice = batchNorm(graph, once, { name: 'second' });
    const scores = linear(graph, flatten(graph, twice), { name: 'scores', outputs: CLASSES });
    const model = await open(finish(graph, scores));
    const batch = randomBatch(8);
    await model.gradient(batch);
    const perChannel = 8 * POSITIONS;
    const statistics = channelStatistics(batch.inputs, CHANNELS, POSITIONS);
    const unbiased = (variance: number) => 0.9 + (0.1 * variance * perChannel) / (perChannel - 1);
    const first = [...statistics.map(({ mean }) => 0.1 * mean), ...statistics.map((s) => unbiased(s.variance))];
    // what the first layer hands on has mean 0 and variance 1
    const expected = [...first, 0, 0, unbiased(1), unbiased(1)];
    model.auxiliary.forEach((value, i) => expect(value).toBeCloseTo(expected[i] as number, 4));
  });

  it('are what evaluation normalises by, as they stand in the flat vector', async () => {
    const model = await open(normalised());
    // scores = the first normalised value and its negative
    model.parameters.fill(0);
    model.parameters.set([1, 1], 0);
    model.parameters[2 * CHANNELS] = 1;
    model.parameters[2 * CHANNELS + CHANNELS * POSITIONS] = -1;
    model.auxiliary.set([4, 0, 9, 1]);
    const batch: Batch = { inputs: Float32Array.of(10, 0, 0, 0, 0, 0), labels: Int32Array.of(1), count: 1 };
    const score = (10 - 4) / Math.sqrt(9 + 1e-5);
    expect((await model.evaluate(batch)).loss).toBeCloseTo(Math.log(1 + Math.exp(2 * score)), 4);
  });

  it('stay as they are when a batch is refused', async () => {
    const model = await open(normalised());
    await expect(model.gradient({ ...randomBatch(2), count: 3 })).rejects.toMatchObject({ code: 'bad-data' });
    expect([...model.auxiliary]).toEqual([0, 0, 1, 1]);
  });

  it('take a batch of one value per channel', async () => {
    const graph = createGraph({ inputShape: [CHANNELS], classCount: CLASSES });
    const normal = batchNorm(graph, graph.input, { name: 'norm' });
    const model = await open(finish(graph, linear(graph, normal, { name: 'scores', outputs: CLASSES })));
    const { values } = await model.gradient({ inputs: Float32Array.of(5, -5), labels: Int32Array.of(1), count: 1 });
    expect([...values, ...model.auxiliary].every(Number.isFinite)).toBe(true);
  });
});

describe('masks', () => {
  it('follow from the seed of the batch alone', async () => {
    const [a, b] = await Promise.all([open(dropped()), open(dropped())]);
    const batch = randomBatch(6);
    await a.gradient({ ...batch, seed: 1 });
    const first = (await a.gradient({ ...batch, seed: 5 })).values.slice();
    expect((await b.gradient({ ...batch, seed: 5 })).values).toEqual(first);
    expect((await b.gradient({ ...batch, seed: 6 })).values).not.toEqual(first);
  });

  it('differ from step to step without one, the same way in every process', async () => {
    const [a, b] = await Promise.all([open(dropped()), open(dropped())]);
    const batch = randomBatch(6);
    const steps = async (model: Model) => [
      (await model.gradient(batch)).values.slice(),
      (await model.gradient(batch)).values.slice(),
    ];
    const [first, second] = await steps(a);
    expect(first).not.toEqual(second);
    expect(await steps(b)).toEqual([first, second]);
  });

  it('keep the gradient unbiased: its mean over many seeds is that without dropout', async () => {
    const graph = createGraph({ inputShape: [CHANNELS * POSITIONS], classCount: CLASSES });
    const plain = await open(finish(graph, linear(graph, graph.input, { name: 'scores', outputs: CLASSES })));
    const model = await open(dropped());
    const batch = randomBatch(4);
    // with all weights at zero the loss's gradient with respect to the scores does not depend on the mask
    plain.parameters.fill(0);
    model.parameters.fill(0);
    const expected = (await plain.gradient(batch)).values.slice();
    const sum = new Float64Array(expected.length);
    const runs = 2000;
    for (let seed = 0; seed < runs; seed += 1) {
      const { values } = await model.gradient({ ...batch, seed });
      values.forEach((value, i) => {
        sum[i] = (sum[i] as number) + value / runs;
      });
    }
    // inputs are about 4 in size, so that one standard error of the mean is about 0.05
    sum.forEach((mean, i) => expect(Math.abs(mean - (expected[i] as number))).toBeLessThan(0.25));
    expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(0.5);
  });

  it('are not drawn in evaluation', async () => {
    const model = await open(dropped());
    const batch = randomBatch(6);
    const first = await model.evaluate(batch);
    await model.gradient(batch);
    expect(await model.evaluate(batch)).toEqual(first);
  });
});
