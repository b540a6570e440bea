/**
 * Two real workers and an evaluator around a real controller, on a small network with batch-norm and dropout: running
 * statistics are part of the replica. The data are far from zero, so that a model with wrong ones guesses.
 */
import { controller, type RunEvent } from 'preduce/client';
import { describe, expect, it } from 'vitest';
import type { Dataset } from '../../src/data/dataset.js';
import type { Graph } from '../../src/engine/graph.js';
import type { Model } from '../../src/engine/model.js';
import type { TrainingConfig } from '../../src/training/config.js';

/** A module of the compiled program, which the comm thread is part of, with its source's types. */
const compiled = (path: string): Promise<unknown> => import(new URL(`../../dist/${path}`, import.meta.url).href);
const { createGraph } = (await compiled('engine/graph.js')) as typeof import('../../src/engine/graph.js');
const { createModel } = (await compiled('engine/onnx-model.js')) as typeof import('../../src/engine/onnx-model.js');
const { batchNorm } = (await compiled(
  'engine/ops/batch-norm.js',
)) as typeof import('../../src/engine/ops/batch-norm.js');
const { dropout } = (await compiled('engine/ops/dropout.js')) as typeof import('../../src/engine/ops/dropout.js');
const { linear } = (await compiled('engine/ops/linear.js')) as typeof import('../../src/engine/ops/linear.js');
const { relu } = (await compiled('engine/ops/relu.js')) as typeof import('../../src/engine/ops/relu.js');
const { softmaxCrossEntropy } = (await compiled(
  'engine/ops/softmax-cross-entropy.js',
)) as typeof import('../../src/engine/ops/softmax-cross-entropy.js');
const { createRandom } = (await compiled('base/random.js')) as typeof import('../../src/base/random.js');
const { runEvaluator } = (await compiled('training/evaluator.js')) as typeof import('../../src/training/evaluator.js');
const { trainWorker } = (await compiled('training/loop.js')) as typeof import('../../src/training/loop.js');
const { connectWorker } = (await compiled('worker/worker-run.js')) as typeof import('../../src/worker/worker-run.js');

const VALUES = 4;
const CLASSES = 2;
const BATCH = 32;
const SAMPLES = 2048;
const EPOCHS = 3;
const NO_LEAVE = new AbortController().signal;

function smallNetwork(): Graph {
  const graph = createGraph({ inputShape: [VALUES], classCount: CLASSES });
  const normal = batchNorm(graph, graph.input, { name: 'norm' });
  const hidden = dropout(graph, relu(graph, linear(graph, normal, { name: 'hidden', outputs: 16 })), 0.2);
  const scores = linear(graph, hidden, { name: 'scores', outputs: CLASSES });
  graph.setOutcome(scores, softmaxCrossEntropy(graph, scores));
  return graph;
}

/** Bytes around 180, handed over as they are; the class is which of the first two values is greater. */
function createData(sampleCount: number, seed: number): Dataset {
  const random = createRandom(seed);
  const images = Uint8Array.from({ length: sampleCount * VALUES }, () => 150 + random.below(60));
  const labels = Uint8Array.from({ length: sampleCount }, (_, i) => {
    return (images[i * VALUES] as number) > (images[i * VALUES + 1] as number) ? 1 : 0;
  });
  const levels = Float32Array.from({ length: 256 }, (_, byte) => byte);
  return { name: 'pairs', sampleCount, inputShape: [VALUES], classCount: CLASSES, images, labels, levels };
}

const TRAIN = createData(SAMPLES, 1);
const TEST = createData(500, 2);

const CONFIG: TrainingConfig = {
  workload: 'pairs',
  dataDirectory: null,
  strategy: 'partial-reduce',
  localSteps: 8,
  seed: 1,
  workerCount: 2,
  batchSamples: BATCH,
  learningRate: 0.05,
  schedule: { name: 'cosine', warmUpSamples: 0.1 * EPOCHS * SAMPLES, runSamples: EPOCHS * SAMPLES },
  optimizer: 'sgd',
  momentum: 0.9,
  nesterov: false,
  weightDecay: 0,
  averageOptimizer: false,
  threads: 1,
  slow: [],
  referenceMs: null,
};

interface Outcome {
  readonly workers: readonly Model[];
  readonly evaluator: Model;
  /** Of the final model, as the evaluator found it. */
  readonly accuracy: number;
}

async function run(config: TrainingConfig): Promise<Outcome> {
  const events: RunEvent[] = [];
  const running = await controller({
    core: {
      strategy: config.strategy,
      minWorkers: config.workerCount,
      ledger: { sampleCount: SAMPLES, batchSamples: BATCH, leaseBatches: 4, epochs: EPOCHS },
      evaluateEverySamples: SAMPLES,
    },
    onEvent: (event) => events.push(event),
  });
  // Each starts from a model of its own, which the run's first worker's replaces.
  const models = await Promise.all([1, 2, 3].map((seed) => createModel(smallNetwork(), { seed })));
  const [evaluator, ...workers] = models as [Model, ...Model[]];
  const evaluating = runEvaluator({
    controller: running.url,
    token: null,
    model: evaluator,
    test: TEST,
    onFinal: () => Promise.resolve(),
  });
  const connected = await Promise.all(workers.map(() => connectWorker({ controller: running.url })));
  try {
    await Promise.all([
      ...workers.map((model, i) => {
        const own = connected[i] as (typeof connected)[number];
        return trainWorker({ connected: own, config, model, train: TRAIN, worker: i, leave: NO_LEAVE });
      }),
      evaluating,
      running.ended,
    ]);
  } finally {
    await Promise.all(connected.map((own) => own.terminate()));
    await running.close();
    await Promise.all(models.map((model) => model.release()));
  }
  const final = events.find((event) => event.type === 'evaluated' && event.final);
  return { workers, evaluator, accuracy: final?.type === 'evaluated' ? final.accuracy : Number.NaN };
}

describe('a model with running statistics', () => {
  it.each<[string, Partial<TrainingConfig>]>([
    ['partial reduce', {}],
    [
      'partial reduce with averaged AdamW',
      { optimizer: 'adamw', learningRate: 0.02, momentum: 0, averageOptimizer: true },
    ],
    ['all-reduce', { strategy: 'all-reduce', nesterov: true }],
  ])('ends the same at every worker and at the evaluator, under %s', async (_, options) => {
    const { workers, evaluator, accuracy } = await run({ ...CONFIG, ...options });
    for (const worker of workers) {
      expect(worker.parameters).toEqual(evaluator.parameters);
      expect(worker.auxiliary).toEqual(evaluator.auxiliary);
    }
    // Uniform from 150 to 209: mean 179.5, variance 300.
    const [means, variances] = [evaluator.auxiliary.subarray(0, VALUES), evaluator.auxiliary.subarray(VALUES)];
    for (const mean of means) expect(Math.abs(mean - 179.5)).toBeLessThan(6);
    for (const variance of variances) expect(Math.abs(variance - 300)).toBeLessThan(90);
    expect(accuracy).toBeGreaterThan(0.93);
  });
});
