/**
 * The one place that touches onnxruntime-node, an optional dependency that is loaded at first use. Tensors are views
 * of the caller's arrays in both directions: inputs are read where they lie, outputs are written straight into theirs.
 */
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { messageOf, PreduceError } from '../base/errors.js';
import { encodeOnnxFile } from './onnx-file.js';
import type { OnnxGraph } from './onnx-graph.js';

/** A tensor that lies in the caller's memory; not in a SharedArrayBuffer, which the runtime refuses. */
export interface TensorView {
  readonly data: Float32Array | Int32Array;
  readonly shape: readonly number[];
}

export type TensorViews = Readonly<Record<string, TensorView>>;

/** A compiled graph. */
export interface Session {
  /**
   * Computes every output of `outputs` from `inputs`, both by name. The views must hold still until it resolves.
   * Throws `engine-failed`.
   */
  run(inputs: TensorViews, outputs: TensorViews): Promise<void>;
  /** Frees the native memory; further calls fail. */
  release(): Promise<void>;
}

export interface SessionOptions {
  /** Threads that one operator may use, this one included. Default 1. */
  readonly threads?: number;
}

export type Runtime = typeof import('onnxruntime-node');

/** Loads the native runtime. Throws `engine-missing` and says how to install it. */
export async function loadRuntime(): Promise<Runtime> {
  try {
    return await import('onnxruntime-node');
  } catch (cause) {
    throw new PreduceError(
      'engine-missing',
      `training a built-in model needs onnxruntime-node, which does not load (${messageOf(cause).split('\n')[0]}): ` +
        'install it with ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node',
      { cause },
    );
  }
}

function runtimeOptions(options: SessionOptions): InferenceSession.SessionOptions {
  return {
    intraOpNumThreads: options.threads ?? 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    extra: {
      session: {
        // A process that waits must leave the cores to the others on the machine.
        intra_op: { allow_spinning: '0' },
        inter_op: { allow_spinning: '0' },
        // Denormals cost a hundred times an ordinary number, and mean nothing in a gradient.
        set_denormal_as_zero: '1',
      },
    },
  };
}

/** Compiles `graph`. Throws `engine-failed`. */
export async function createSession(graph: OnnxGraph, options: SessionOptions, runtime: Runtime): Promise<Session> {
  const session = await runtime.InferenceSession.create(encodeOnnxFile(graph), runtimeOptions(options)).catch(failed);
  // Most views are the same in every run (the parameters, the gradients), so their wrappers are kept.
  const wrappers = new WeakMap<TensorView, Tensor>();

  function wrap(view: TensorView): Tensor {
    const known = wrappers.get(view);
    if (known !== undefined) return known;
    const { data, shape } = view;
    const tensor =
      data instanceof Float32Array
        ? new runtime.Tensor('float32', data, shape)
        : new runtime.Tensor('int32', data, shape);
    wrappers.set(view, tensor);
    return tensor;
  }

  function wrapAll(views: TensorViews): Record<string, Tensor> {
    return Object.fromEntries(Object.entries(views).map(([name, view]) => [name, wrap(view)]));
  }

  return {
    async run(inputs, outputs) {
      await session.run(wrapAll(inputs), wrapAll(outputs)).catch(failed);
    },
    release: () => session.release().catch(failed),
  };
}

function failed(cause: unknown): never {
  throw new PreduceError('engine-failed', `ONNX Runtime failed: ${messageOf(cause)}`, { cause });
}
