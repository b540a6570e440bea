/**
 * The thread that computes gradients and losses of a workload for a simulation, by the engine of real runs. One model serves all
 * simulated workers: their parameters are written into it for each question.
 */
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { assert, assertPresent } from '../../base/assert.js';
import { messageOf, PreduceError } from '../../base/errors.js';
import { createBatch, type DataBatch, fillBatch } from '../../data/dataset.js';
import type { Model } from '../../engine/model.js';
import { evaluateModel } from '../../training/evaluator.js';
import { findWorkload, type Workload, type WorkloadData } from '../../training/workload.js';
import {
  type Failure,
  type Opened,
  type Question,
  type SharedVectors,
  STATE,
  type ThreadOptions,
} from './thread-messages.js';

/** One thread: sums do not depend on how many cores there are. */
const ENGINE_THREADS = 1;

function shared(length: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(length * Float32Array.BYTES_PER_ELEMENT));
}

function createVectors(length: number): SharedVectors {
  return {
    state: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)),
    parameters: shared(length),
    gradient: shared(length),
    evaluation: new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT)),
  };
}

interface Bench {
  readonly vectors: SharedVectors;
  answer(question: Question): Promise<void>;
}

function createBench(workload: Workload, { train, test }: WorkloadData, first: Model): Bench {
  const vectors = createVectors(first.parameters.length);
  let model = first;
  let batch: DataBatch | null = null;

  async function answer(question: Question): Promise<void> {
    const { parameters, gradient, evaluation } = vectors;
    switch (question.type) {
      case 'reset':
        await model.release();
        model = await workload.createModel({ seed: question.seed, threads: ENGINE_THREADS });
        parameters.set(model.parameters);
        return;
      case 'gradient': {
        const { samples, seed } = question;
        if (batch?.count !== samples.length) batch = createBatch(train, samples.length);
        fillBatch(train, samples, batch);
        model.parameters.set(parameters);
        gradient.set((await model.gradient({ ...batch, seed })).values);
        return;
      }
      case 'evaluate': {
        model.parameters.set(parameters);
        const { loss, accuracy } = await evaluateModel(model, test);
        evaluation.set([loss, accuracy]);
        return;
      }
      default:
        question satisfies never;
    }
  }

  return { vectors, answer };
}

function failureOf(error: unknown): Failure {
  return { code: error instanceof PreduceError ? error.code : 'engine-failed', message: messageOf(error) };
}

async function main(): Promise<void> {
  const port = assertPresent(parentPort, 'a port to the simulation');
  const { workload: name, dataDirectory, failures } = workerData as ThreadOptions;
  const workload = findWorkload(name);
  try {
    const data = await workload.loadData(dataDirectory);
    const model = await workload.createModel({ seed: 0, threads: ENGINE_THREADS });
    if (model.auxiliary.length > 0) {
      throw new PreduceError(
        'bad-option',
        `--problem: expected a workload whose model has no running statistics, which are not simulated, got ${name}`,
      );
    }
    const { vectors, answer } = createBench(workload, data, model);
    port.on('message', (question: Question) => {
      void answer(question).then(
        () => settle(vectors.state, STATE.answered),
        (error: unknown) => {
          failures.postMessage(failureOf(error));
          settle(vectors.state, STATE.failed);
        },
      );
    });
    port.postMessage({ vectors, sampleCount: data.train.sampleCount } satisfies Opened);
  } catch (error) {
    port.postMessage(failureOf(error));
    port.close();
  }
}

function settle(state: Int32Array, value: number): void {
  Atomics.store(state, 0, value);
  Atomics.notify(state, 0);
}

assert(!isMainThread, 'the thread of a workload is not the main one');
await main();
