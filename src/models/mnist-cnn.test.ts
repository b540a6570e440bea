import { expect, it } from 'vitest';
import { createBatch, type DataBatch, type Dataset, fillBatch } from '../data/dataset.js';
import { loadMnist } from '../data/mnist.js';
import { createModel } from '../engine/onnx-model.js';
import { createSgd } from '../engine/optimizer.js';
import { mnistCnn } from './mnist-cnn.js';

function samples(dataset: Dataset, from: number, count: number): DataBatch {
  const batch = createBatch(dataset, count);
  const indices = Int32Array.from({ length: count }, (_, i) => from + i);
  fillBatch(dataset, indices, batch);
  return batch;
}

it('learns real digits within a few dozen steps', { timeout: 60_000 }, async () => {
  const { train, test } = await loadMnist({ directory: null });
  const model = await createModel(mnistCnn(), { seed: 1 });
  expect(model.layout.map(({ name, shape }) => `${name} ${shape.join('x')}`)).toEqual([
    'conv1.weight 32x1x3x3',
    'conv1.bias 32',
    'conv2.weight 64x32x3x3',
    'conv2.bias 64',
    'hidden.weight 128x3136',
    'hidden.bias 128',
    'scores.weight 10x128',
    'scores.bias 10',
  ]);
  const unseen = samples(test, 0, 200);
  const before = await model.evaluate(unseen);
  const optimizer = createSgd(model.parameters.length, { momentum: 0.9 });
  const stepCount = 40;
  const batchSamples = 32;
  for (let step = 0; step < stepCount; step += 1) {
    const { values } = await model.gradient(samples(train, step * batchSamples, batchSamples));
    optimizer.step(model.parameters, values, 0.02);
  }
  const after = await model.evaluate(unseen);
  // A guess has a loss of ln 10 = 2.3 and 20 hits.
  expect(before.loss).toBeGreaterThan(2);
  expect(after.loss).toBeLessThan(1.2);
  expect(after.correct).toBeGreaterThan(120);
  await model.release();
});
