/**
 * Workloads: what can be trained by name. Each makes its data and its model from a seed; data and engine are loaded on
 * demand, so that `--help` is quick and a client without the engine runs.
 */
import { PreduceError } from '../base/errors.js';
import { unknownNameMessage } from '../base/nearest.js';
import type { Dataset } from '../data/dataset.js';
import type { Model } from '../engine/model.js';

export interface WorkloadData {
  readonly train: Dataset;
  readonly test: Dataset;
}

export interface Workload {
  readonly name: string;
  readonly description: string;
  /** What a run uses unless told otherwise. */
  readonly defaults: {
    readonly batchSamples: number;
    readonly learningRate: number;
    readonly momentum: number;
    readonly epochs: number;
    /** A test accuracy well below the plateau, for comparisons of time. */
    readonly targetAccuracy: number;
  };
  /** Null: the data that comes with the package. Throws `data-missing`, `bad-data`. */
  loadData(directory: string | null): Promise<WorkloadData>;
  /** Throws `engine-missing`. */
  createModel(options: { readonly seed: number; readonly threads: number }): Promise<Model>;
}

/** Handwritten digits, 70,000 images of 28x28. */
async function loadDigits(directory: string | null): Promise<WorkloadData> {
  const { loadMnist } = await import('../data/mnist.js');
  return loadMnist({ directory });
}

async function createModelByName(
  name: 'mnist-mlp' | 'mnist-cnn',
  options: { readonly seed: number; readonly threads: number },
): Promise<Model> {
  const [{ createModel }, { models }] = await Promise.all([
    import('../engine/onnx-model.js'),
    import('../models/registry.js'),
  ]);
  return createModel(models[name].build(), options);
}

const mnistMlp: Workload = {
  name: 'mnist-mlp',
  description: 'handwritten digits, 70,000 images of 28x28; a multilayer perceptron',
  defaults: { batchSamples: 128, learningRate: 0.05, momentum: 0.9, epochs: 3, targetAccuracy: 0.96 },
  loadData: loadDigits,
  createModel: (options) => createModelByName('mnist-mlp', options),
};

const mnistCnn: Workload = {
  name: 'mnist-cnn',
  description: 'handwritten digits, 70,000 images of 28x28; a small convolutional network',
  defaults: { batchSamples: 64, learningRate: 0.05, momentum: 0.9, epochs: 3, targetAccuracy: 0.985 },
  loadData: loadDigits,
  createModel: (options) => createModelByName('mnist-cnn', options),
};

export const workloads: readonly Workload[] = [mnistMlp, mnistCnn];

/** Throws `bad-option`, with the nearest name. */
export function findWorkload(name: string): Workload {
  const found = workloads.find((workload) => workload.name === name);
  if (found === undefined) {
    const known = workloads.map((workload) => workload.name);
    throw new PreduceError('bad-option', unknownNameMessage('workload', name, known));
  }
  return found;
}
