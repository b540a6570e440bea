import { afterAll, describe, expect, it } from 'vitest';
import { centralDifferences, type ReferenceOperation, relativeError } from '../../test/reference/operation.js';
import { referenceLinear } from '../../test/reference/linear.js';
import { referenceRelu } from '../../test/reference/relu.js';
import { referenceSoftmaxCrossEntropy } from '../../test/reference/softmax-cross-entropy.js';
import { createRandom } from '../base/random.js';
import { createGraph, type Graph } from './graph.js';
import type { Batch, Model } from './model.js';
import { createModel, type ModelOptions } from './onnx-model.js';
import { flatten } from './ops/flatten.js';
import { linear } from './ops/linear.js';
import { relu } from './ops/relu.js';
import { softmaxCrossEntropy } from './ops/softmax-cross-entropy.js';
import { createSgd } from './optimizer.js';

const INPUT_SHAPE = [2, 3];
const INPUTS = 6;
const HIDDEN = 8;
const CLASSES = 3;

function smallGraph(): Graph {
  const graph = createGraph({ inputShape: INPUT_SHAPE, classCount: CLASSES });
  const flat = flatten(graph, graph.input);
  const hidden = relu(graph, linear(graph, flat, { name: 'hidden', outputs: HIDDEN }));
  const scores = linear(graph, hidden, { name: 'scores', outputs: CLASSES });
  graph.setOutcome(scores, softmaxCrossEntropy(graph, scores));
  return graph;
}

const opened: Model[] = [];

async function openModel(options: ModelOptions = { seed: 1 }): Promise<Model> {
  const model = await createModel(smallGraph(), options);
  opened.push(model);
  return model;
}

afterAll(async () => {
  await Promise.all(opened.map((model) => model.release()));
});

/** Samples around one centre per class. */
function randomBatch(count: number, seed: number): Batch {
  const random = createRandom(seed);
  const labels = Int32Array.from({ length: count }, () => random.below(CLASSES));
  const inputs = Float32Array.from({ length: count * INPUTS }, (_, i) => {
    const label = labels[Math.floor(i / INPUTS)] as number;
    return random.normal() / 2 + (i % CLASSES === label ? 1 : 0);
  });
  return { inputs, labels, count };
}

/** The loss of the small model in float64, from the flat vector. */
function referenceLoss(flat: Float64Array, { inputs, labels, count }: Batch): number {
  let offset = 0;
  const take = (length: number) => flat.subarray(offset, (offset += length));
  const run = (operation: ReferenceOperation, ...operands: Float64Array[]) => operation.forward(operands);
  const hidden = run(
    referenceLinear(count, INPUTS, HIDDEN),
    Float64Array.from(inputs),
    take(HIDDEN * INPUTS),
    take(HIDDEN),
  );
  const scores = run(
    referenceLinear(count, HIDDEN, CLASSES),
    run(referenceRelu(), hidden),
    take(CLASSES * HIDDEN),
    take(CLASSES),
  );
  return run(referenceSoftmaxCrossEntropy(labels, CLASSES), scores)[0] as number;
}

describe('createModel', () => {
  it('lays the parameters out one after another', async () => {
    const model = await openModel();
    expect(model.layout).toEqual([
      { name: 'hidden.weight', shape: [HIDDEN, INPUTS] },
      { name: 'hidden.bias', shape: [HIDDEN] },
      { name: 'scores.weight', shape: [CLASSES, HIDDEN] },
      { name: 'scores.bias', shape: [CLASSES] },
    ]);
    expect(model.parameters.length).toBe(HIDDEN * INPUTS + HIDDEN + CLASSES * HIDDEN + CLASSES);
    expect(model.parameters.buffer).toBeInstanceOf(ArrayBuffer);
  });

  it('computes loss and gradient of the whole model as central differences in float64 do', async () => {
    const model = await openModel();
    const batch = randomBatch(9, 2);
    const flat = Float64Array.from(model.parameters);
    const gradient = await model.gradient(batch);
    const expected = centralDifferences(flat, () => referenceLoss(flat, batch));
    expect(Math.abs(gradient.loss - referenceLoss(flat, batch))).toBeLessThan(1e-5);
    expect(relativeError(gradient.values, expected)).toBeLessThan(1e-5);
    // the bound above is absolute for small gradients, so make sure these are not
    expect(Math.max(...expected)).toBeGreaterThan(0.01);
  });

  it('initialises equal seeds to equal bits, and different seeds differently', async () => {
    const [a, b, c] = await Promise.all([openModel({ seed: 7 }), openModel({ seed: 7 }), openModel({ seed: 8 })]);
    expect(a.parameters).toEqual(b.parameters);
    expect(a.parameters).not.toEqual(c.parameters);
  });

  it('reads the flat vector at every call and leaves it alone', async () => {
    const model = await openModel();
    const batch = randomBatch(5, 3);
    const before = await model.evaluate(batch);
    const initial = model.parameters.slice();
    expect((await model.gradient(batch)).loss).toBeCloseTo(before.loss, 6);
    expect(model.parameters).toEqual(initial);
    model.parameters.fill(0);
    const after = await model.evaluate(batch);
    expect(after.loss).toBeCloseTo(Math.log(CLASSES), 6);
    expect((await model.gradient(batch)).loss).toBeCloseTo(Math.log(CLASSES), 6);
  });

  it('takes batches of different sizes, one after another', async () => {
    const model = await openModel();
    const whole = randomBatch(12, 4);
    const parts = [1, 7, 4];
    let start = 0;
    const sum = new Float64Array(model.parameters.length);
    for (const count of parts) {
      const inputs = whole.inputs.slice(start * INPUTS, (start + count) * INPUTS);
      const labels = whole.labels.slice(start, start + count);
      const { values } = await model.gradient({ inputs, labels, count });
      values.forEach((value, i) => {
        sum[i] = (sum[i] as number) + (value * count) / whole.count;
      });
      start += count;
    }
    expect(relativeError((await model.gradient(whole)).values, sum)).toBeLessThan(1e-6);
  });

  it('counts a sample as correct when its largest score is its label', async () => {
    const model = await openModel();
    model.parameters.fill(0);
    // only the last bias: every sample is taken for the last class
    model.parameters[model.parameters.length - 1] = 1;
    const batch = randomBatch(20, 5);
    const expected = batch.labels.filter((label) => label === CLASSES - 1).length;
    expect((await model.evaluate(batch)).correct).toBe(expected);
  });

  it('learns', async () => {
    const model = await openModel();
    const optimizer = createSgd(model.parameters.length, { momentum: 0.9 });
    const test = randomBatch(200, 6);
    const before = await model.evaluate(test);
    for (let step = 0; step < 60; step += 1) {
      const { values } = await model.gradient(randomBatch(16, 100 + step));
      optimizer.step(model.parameters, values, 0.05);
    }
    const after = await model.evaluate(test);
    expect(after.loss).toBeLessThan(before.loss / 2);
    expect(after.correct).toBeGreaterThan(160);
  });

  it.each([
    { what: 'no samples', change: { count: 0 }, message: 'at least one sample, got 0' },
    { what: 'half a sample', change: { count: 1.5 }, message: 'at least one sample, got 1.5' },
    {
      what: 'missing inputs',
      change: { inputs: new Float32Array(17) },
      message: '3 samples of 6 values (18 in all), got 17',
    },
    { what: 'spare inputs', change: { inputs: new Float32Array(24) }, message: '(18 in all), got 24' },
    {
      what: 'missing labels',
      change: { labels: Int32Array.of(0, 1) },
      message: 'expected 3 labels, one per sample, got 2',
    },
    {
      what: 'a label too high',
      change: { labels: Int32Array.of(0, 1, 3) },
      message: 'labels from 0 to 2, got 3 at sample 2',
    },
    { what: 'a negative label', change: { labels: Int32Array.of(0, -1, 2) }, message: 'got -1 at sample 1' },
  ])('refuses a batch with $what', async ({ change, message }) => {
    const model = await openModel();
    const batch = { ...randomBatch(3, 1), ...change };
    const refusal = { name: 'PreduceError', code: 'bad-data', message: expect.stringContaining(message) };
    await expect(model.gradient(batch)).rejects.toMatchObject(refusal);
    await expect(model.evaluate(batch)).rejects.toMatchObject(refusal);
    // and goes on working
    await expect(model.evaluate(randomBatch(3, 1))).resolves.toMatchObject({ loss: expect.any(Number) });
  });

  it('runs one batch at a time', async () => {
    const model = await openModel();
    const first = model.gradient(randomBatch(3, 1));
    await expect(model.evaluate(randomBatch(3, 1))).rejects.toThrow('one batch at a time');
    await expect(first).resolves.toMatchObject({ loss: expect.any(Number) });
  });

  it('cannot be used once released, and may be released twice', async () => {
    const model = await openModel();
    await model.gradient(randomBatch(3, 1));
    await model.release();
    await model.release();
    await expect(model.gradient(randomBatch(3, 1))).rejects.toThrow('released');
  });
});
