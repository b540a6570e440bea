/**
 * A `Model` that trains a graph with ONNX Runtime on one flat float32 vector: each parameter is a view of it, and the
 * runtime writes each gradient into a view of a second such vector. Nothing is copied.
 */
import { assert } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import { createRandom } from '../base/random.js';
import { buildEvaluationGraph, buildTrainingGraph, CORRECT_OUTPUT, gradientOutput, LOSS_OUTPUT } from './autodiff.js';
import type { Graph } from './graph.js';
import type { Batch, Model } from './model.js';
import {
  createSession,
  loadRuntime,
  type Session,
  type SessionOptions,
  type TensorView,
  type TensorViews,
} from './session.js';
import { elementCount } from './shape.js';

export interface ModelOptions extends SessionOptions {
  /** Decides the initial parameters: equal seeds give equal bits. */
  readonly seed: number;
}

/** One view per parameter of `flat`, in order; `name` makes the key. */
function viewsOf(graph: Graph, flat: Float32Array, name: (parameter: string) => string): Record<string, TensorView> {
  const views: Record<string, TensorView> = {};
  let offset = 0;
  for (const parameter of graph.parameters) {
    const length = elementCount(parameter.shape);
    views[name(parameter.name)] = { data: flat.subarray(offset, offset + length), shape: parameter.shape };
    offset += length;
  }
  return views;
}

function initialize(graph: Graph, parameters: TensorViews, seed: number): void {
  const random = createRandom(seed);
  graph.parameters.forEach((parameter, i) => {
    parameter.initialize(parameters[parameter.name]?.data as Float32Array, random.fork(i));
  });
}

function checkBatch(batch: Batch, sampleLength: number, classCount: number): void {
  const { inputs, labels, count } = batch;
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new PreduceError('bad-data', `expected a batch of at least one sample, got ${count}`);
  }
  if (inputs.length !== count * sampleLength) {
    throw new PreduceError(
      'bad-data',
      `expected ${count} samples of ${sampleLength} values (${count * sampleLength} in all), got ${inputs.length}`,
    );
  }
  if (labels.length !== count) {
    throw new PreduceError('bad-data', `expected ${count} labels, one per sample, got ${labels.length}`);
  }
  for (const [i, label] of labels.entries()) {
    if (label >= 0 && label < classCount) continue;
    throw new PreduceError('bad-data', `expected labels from 0 to ${classCount - 1}, got ${label} at sample ${i}`);
  }
}

/** A session that is compiled at its first use. */
interface OnceSession {
  get(): Promise<Session>;
  /** Frees the session if there is one, and refuses to make one from then on. */
  release(): Promise<void>;
}

function once(compile: () => Promise<Session>): OnceSession {
  let session: Promise<Session> | null = null;
  let released = false;
  return {
    get() {
      assert(!released, 'a released model is not used');
      session ??= compile();
      return session;
    },
    async release() {
      if (released) return;
      released = true;
      await (await session)?.release();
    },
  };
}

/**
 * Initialises the parameters of `graph` and makes it ready to run. Throws `engine-missing`. The model's calls also
 * throw `bad-data`, for a batch that does not fit. The size of a batch may change from call to call.
 */
export async function createModel(graph: Graph, options: ModelOptions): Promise<Model> {
  const length = graph.parameters.reduce((sum, { shape }) => sum + elementCount(shape), 0);
  const parameters = new Float32Array(length);
  const gradient = new Float32Array(length);
  const loss: TensorView = { data: new Float32Array(1), shape: [] };
  const correct: TensorView = { data: new Int32Array(1), shape: [] };
  const parameterViews = viewsOf(graph, parameters, (name) => name);
  const trainingOutputs = { [LOSS_OUTPUT]: loss, ...viewsOf(graph, gradient, gradientOutput) };
  const evaluationOutputs = { [LOSS_OUTPUT]: loss, [CORRECT_OUTPUT]: correct };
  const inputShape = graph.input.shape.slice(1);
  const sampleLength = elementCount(inputShape);
  let busy = false;

  initialize(graph, parameterViews, options.seed);
  const runtime = await loadRuntime();
  // Compiled when first used: a worker may never evaluate, an evaluator never trains.
  const training = once(() => createSession(buildTrainingGraph(graph), options, runtime));
  const evaluation = once(() => createSession(buildEvaluationGraph(graph), options, runtime));

  async function run(session: OnceSession, batch: Batch, outputs: TensorViews): Promise<void> {
    checkBatch(batch, sampleLength, graph.classCount);
    assert(!busy, 'a model runs one batch at a time');
    busy = true;
    const inputs = {
      ...parameterViews,
      [graph.input.name]: { data: batch.inputs, shape: [batch.count, ...(inputShape as number[])] },
      [graph.labels.name]: { data: batch.labels, shape: [batch.count] },
    };
    try {
      await (await session.get()).run(inputs, outputs);
    } finally {
      busy = false;
    }
  }

  return {
    layout: graph.parameters.map(({ name, shape }) => ({ name, shape: [...shape] })),
    parameters,
    async gradient(batch) {
      await run(training, batch, trainingOutputs);
      return { loss: loss.data[0] as number, values: gradient };
    },
    async evaluate(batch) {
      await run(evaluation, batch, evaluationOutputs);
      return { loss: loss.data[0] as number, correct: correct.data[0] as number };
    },
    async release() {
      await Promise.all([training.release(), evaluation.release()]);
    },
  };
}
