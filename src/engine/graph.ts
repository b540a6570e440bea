/**
 * A model as a graph of operations on named tensors. Functions in ops/ append operations (`relu(graph, x)`), each of
 * which knows how to write itself, and its gradient, in ONNX; autodiff.ts puts them together.
 *
 * Shapes are inferred while the graph is built, so a layer that does not fit fails there, with its name.
 */
import { assert, assertPresent } from '../base/assert.js';
import type { Initializer } from './initializers.js';
import type { OnnxBuilder } from './onnx-graph.js';
import { BATCH, formatShape, type Shape } from './shape.js';

/** A tensor of the graph; its `name` is also its name in the ONNX graph. */
export interface Value {
  readonly name: string;
  readonly shape: Shape;
  /** Whether a parameter lies upstream, so that the loss's gradient with respect to this value is of use. */
  readonly needsGradient: boolean;
}

/** A trained tensor: one piece of the flat parameter vector. */
export interface Parameter extends Value {
  readonly shape: readonly number[];
  readonly initialize: Initializer;
}

/** A tensor that training updates by a rule of its own and not by gradients, such as running statistics. */
export interface Auxiliary extends Value {
  readonly shape: readonly number[];
  readonly initialize: Initializer;
}

/** A random tensor, drawn anew for each training batch: each element is 0, or else 1 / (share of elements kept). */
export interface Mask extends Value {
  readonly keptShare: number;
}

export type Mode = 'training' | 'evaluation';

/** One step of the computation. */
export interface Operation {
  readonly inputs: readonly Value[];
  readonly output: Value;
  /** Where training also computes new values for these: tensors of `forward` named by `updateName`. */
  readonly updates?: readonly Auxiliary[];
  /** Appends nodes that compute a tensor named `output.name` from those named after the inputs. */
  forward(builder: OnnxBuilder, mode: Mode): void;
  /**
   * Appends nodes that compute the loss's gradient with respect to each input from `gradient`, the name of that with
   * respect to the output. Returns their names in the order of `inputs`; null where an input needs none. May read
   * whatever `forward` named.
   */
  backward(builder: OnnxBuilder, gradient: string): readonly (string | null)[];
}

export interface GraphOptions {
  /** Shape of one sample, without the batch. */
  readonly inputShape: readonly number[];
  readonly classCount: number;
}

/** A model under construction, and then as it stands. Built by one function of models/, read by autodiff.ts. */
export interface Graph {
  /** Shape [batch, ...inputShape], float32. */
  readonly input: Value;
  /** Shape [batch], int32 class numbers below `classCount`. */
  readonly labels: Value;
  readonly classCount: number;
  /** In the order of the flat vector. */
  readonly parameters: readonly Parameter[];
  /** In the order of the flat auxiliary vector. */
  readonly auxiliary: readonly Auxiliary[];
  readonly masks: readonly Mask[];
  /** In an order in which each can be computed. */
  readonly operations: readonly Operation[];
  /** Scores per class, shape [batch, classCount], and the mean loss, shape []. Set once. */
  readonly outcome: { readonly scores: Value; readonly loss: Value };
  /** Adds a trained tensor. Names are unique. */
  addParameter(name: string, shape: readonly number[], initialize: Initializer): Parameter;
  /** Adds an auxiliary tensor. */
  addAuxiliary(name: string, shape: readonly number[], initialize: Initializer): Auxiliary;
  /** Adds a mask of this shape, batch first; training alone may read it. */
  addMask(shape: Shape, keptShare: number): Mask;
  /** Adds an operation with a new output of this shape; `build` receives that output. */
  operation(
    kind: string,
    inputs: readonly Value[],
    shape: Shape,
    build: (output: Value) => Omit<Operation, 'inputs' | 'output'>,
  ): Value;
  setOutcome(scores: Value, loss: Value): void;
}

/** Name of the tensor that holds the new value of an auxiliary tensor after a training batch. */
export function updateName({ name }: Auxiliary): string {
  return `update/${name}`;
}

function checkShape(name: string, shape: readonly number[]): void {
  const valid = shape.every((dimension) => Number.isSafeInteger(dimension) && dimension > 0);
  assert(valid, `${name} has dimensions of at least 1, not ${formatShape(shape)}`);
}

export function createGraph(options: GraphOptions): Graph {
  const names = new Set<string>();
  const parameters: Parameter[] = [];
  const auxiliary: Auxiliary[] = [];
  const masks: Mask[] = [];
  const operations: Operation[] = [];
  let outcome: Graph['outcome'] | null = null;

  function named(name: string): string {
    assert(!names.has(name), `the graph has one tensor named ${name}`);
    names.add(name);
    return name;
  }

  return {
    input: { name: named('input'), shape: [BATCH, ...options.inputShape], needsGradient: false },
    labels: { name: named('labels'), shape: [BATCH], needsGradient: false },
    classCount: options.classCount,
    parameters,
    auxiliary,
    masks,
    operations,
    get outcome() {
      return assertPresent(outcome, 'the outcome of the graph (end a model with a loss)');
    },
    addParameter(name, shape, initialize) {
      checkShape(name, shape);
      const parameter = { name: named(name), shape, initialize, needsGradient: true };
      parameters.push(parameter);
      return parameter;
    },
    addAuxiliary(name, shape, initialize) {
      checkShape(name, shape);
      const added = { name: named(name), shape, initialize, needsGradient: false };
      auxiliary.push(added);
      return added;
    },
    addMask(shape, keptShare) {
      assert(keptShare > 0 && keptShare <= 1, `a mask keeps a share in (0, 1] of the elements, not ${keptShare}`);
      const mask = { name: named(`mask:${masks.length}`), shape, keptShare, needsGradient: false };
      masks.push(mask);
      return mask;
    },
    operation(kind, inputs, shape, build) {
      const name = named(`${kind}:${operations.length}`);
      const output = { name, shape, needsGradient: inputs.some((input) => input.needsGradient) };
      operations.push({ inputs, output, ...build(output) });
      return output;
    },
    setOutcome(scores, loss) {
      assert(outcome === null, 'the graph has one loss');
      assert(loss.shape.length === 0, `the loss is a scalar, not of shape ${formatShape(loss.shape)}`);
      outcome = { scores, loss };
    },
  };
}
