/**
 * A `Model` that trains a graph with ONNX Runtime on one flat float32 vector: each parameter is a view of it, and the
 * runtime writes each gradient into a view of a second such vector. Nothing is copied but the auxiliary tensors,
 * which are small and change only once a batch has succeeded.
 */
import { assert } from '../base/assert.js';
import { createRandom } from '../base/random.js';
import { buildEvaluationGraph, buildTrainingGraph, CORRECT_OUTPUT, gradientOutput, LOSS_OUTPUT } from './autodiff.js';
import { checkBatch } from './check-batch.js';
import { byName, type FlatTensor, layoutOf, totalLength, viewsOf } from './flat-views.js';
import { type Graph, updateName } from './graph.js';
import { drawMasks } from './masks.js';
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

function initialize(tensors: readonly FlatTensor[], views: readonly TensorView[], seed: number): void {
  const random = createRandom(seed);
  tensors.forEach((tensor, i) => tensor.initialize(views[i]?.data as Float32Array, random.fork(i)));
}

/** A session that is compiled at its first use. */
interface LazySession {
  get(): Promise<Session>;
  /** Frees the session if there is one, and refuses to make one from then on. */
  release(): Promise<void>;
}

function createLazySession(compile: () => Promise<Session>): LazySession {
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
 * Initialises the parameters of `graph` and makes it ready to run. Throws `engine-missing`. The size of a batch may
 * change from call to call.
 */
export async function createModel(graph: Graph, options: ModelOptions): Promise<Model> {
  const runtime = await loadRuntime();
  const parameters = new Float32Array(totalLength(graph.parameters));
  const gradient = new Float32Array(parameters.length);
  const auxiliary = new Float32Array(totalLength(graph.auxiliary));
  const newAuxiliary = new Float32Array(auxiliary.length);
  const loss: TensorView = { data: new Float32Array(1), shape: [] };
  const correct: TensorView = { data: new Int32Array(1), shape: [] };

  const parameterViews = viewsOf(graph.parameters, parameters);
  const auxiliaryViews = viewsOf(graph.auxiliary, auxiliary);
  initialize(graph.parameters, parameterViews, options.seed);
  initialize(graph.auxiliary, auxiliaryViews, options.seed);
  const state = { ...byName(graph.parameters, parameterViews), ...byName(graph.auxiliary, auxiliaryViews) };
  const trainingOutputs = {
    [LOSS_OUTPUT]: loss,
    ...byName(graph.parameters, viewsOf(graph.parameters, gradient), ({ name }) => gradientOutput(name)),
    ...byName(graph.auxiliary, viewsOf(graph.auxiliary, newAuxiliary), updateName),
  };
  const evaluationOutputs = { [LOSS_OUTPUT]: loss, [CORRECT_OUTPUT]: correct };

  // Compiled when first used: a worker may never evaluate, an evaluator never trains.
  const training = createLazySession(() => createSession(buildTrainingGraph(graph), options, runtime));
  const evaluation = createLazySession(() => createSession(buildEvaluationGraph(graph), options, runtime));
  const sampleShape = graph.input.shape.slice(1) as number[];
  const sampleLength = elementCount(sampleShape);
  let gradients = 0;
  let busy = false;

  async function run(lazy: LazySession, batch: Batch, masks: TensorViews, outputs: TensorViews): Promise<void> {
    assert(!busy, 'a model runs one batch at a time');
    busy = true;
    try {
      const session = await lazy.get();
      const inputs = { data: batch.inputs, shape: [batch.count, ...sampleShape] };
      const labels = { data: batch.labels, shape: [batch.count] };
      await session.run({ ...state, ...masks, [graph.input.name]: inputs, [graph.labels.name]: labels }, outputs);
    } finally {
      busy = false;
    }
  }

  return {
    layout: layoutOf(graph.parameters),
    parameters,
    auxiliaryLayout: layoutOf(graph.auxiliary),
    auxiliary,
    async gradient(batch) {
      checkBatch(batch, sampleLength, graph.classCount);
      const masks = drawMasks(graph.masks, batch.count, batch.seed ?? gradients);
      await run(training, batch, masks, trainingOutputs);
      auxiliary.set(newAuxiliary);
      gradients += 1;
      return { loss: loss.data[0] as number, values: gradient };
    },
    async evaluate(batch) {
      checkBatch(batch, sampleLength, graph.classCount);
      await run(evaluation, batch, {}, evaluationOutputs);
      return { loss: loss.data[0] as number, correct: correct.data[0] as number };
    },
    async release() {
      await Promise.all([training.release(), evaluation.release()]);
    },
  };
}
