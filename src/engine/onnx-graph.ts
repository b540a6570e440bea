/**
 * An ONNX graph as plain data, and the builder that ops append their nodes to. Nothing here knows protobuf
 * (onnx-file.ts) or a runtime (session.ts), so a test can read the graph as it stands.
 */
import { assert } from '../base/assert.js';

/** Operator set that every emitted node belongs to. */
export const ONNX_OPSET = 18;

export type OnnxType = 'float32' | 'int32' | 'int64' | 'bool';

/** A node's attribute; the tag tells ONNX's types apart, which JavaScript's one number type cannot. */
export type OnnxAttribute =
  | { readonly int: number }
  | { readonly ints: readonly number[] }
  | { readonly float: number }
  | { readonly string: string }
  /** A data type, as Cast takes it. */
  | { readonly type: OnnxType };

export type OnnxAttributes = Readonly<Record<string, OnnxAttribute>>;

/** A constant. Shape [] is a scalar. */
export interface OnnxTensor {
  readonly type: OnnxType;
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

export interface OnnxNode {
  readonly opType: string;
  /** Names of tensors; '' stands for an optional input left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: OnnxAttributes;
}

/** A graph's input or output. A string in the shape is a symbolic dimension, decided at each run. */
export interface OnnxPort {
  readonly name: string;
  readonly type: OnnxType;
  readonly shape: readonly (number | string)[];
}

export interface OnnxGraph {
  readonly nodes: readonly OnnxNode[];
  readonly constants: ReadonlyMap<string, OnnxTensor>;
  readonly inputs: readonly OnnxPort[];
  readonly outputs: readonly OnnxPort[];
}

/** Collects nodes and constants. Names are unique, and the same calls give the same names. */
export interface OnnxBuilder {
  /** Appends a node with one output and returns that output's name: `output`, or one made from `opType`. */
  node(opType: string, inputs: readonly string[], attributes?: OnnxAttributes, output?: string): string;
  /** Appends a node with several outputs, named by the caller; '' stands for an optional output left out. */
  nodeWithOutputs(
    opType: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes?: OnnxAttributes,
  ): void;
  /** Adds a constant and returns its name; equal constants are stored once. */
  constant(type: OnnxType, values: readonly number[], shape?: readonly number[]): string;
  finish(inputs: readonly OnnxPort[], outputs: readonly OnnxPort[]): OnnxGraph;
}

export function createOnnxBuilder(): OnnxBuilder {
  const nodes: OnnxNode[] = [];
  const constants = new Map<string, OnnxTensor>();
  const defined = new Set<string>();

  function define(name: string): void {
    assert(!defined.has(name), `the ONNX graph defines ${name} once`);
    defined.add(name);
  }

  function nodeWithOutputs(
    opType: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: OnnxAttributes = {},
  ): void {
    for (const output of outputs) if (output !== '') define(output);
    nodes.push({ opType, inputs, outputs, attributes });
  }

  return {
    nodeWithOutputs,
    node(opType, inputs, attributes = {}, output = `${opType}:${nodes.length}`) {
      nodeWithOutputs(opType, inputs, [output], attributes);
      return output;
    },
    constant(type, values, shape = [values.length]) {
      const name = `constant:${type}[${shape.join()}]=${values.join()}`;
      if (!constants.has(name)) {
        define(name);
        constants.set(name, { type, shape, values });
      }
      return name;
    },
    finish: (inputs, outputs) => ({ nodes: [...nodes], constants: new Map(constants), inputs, outputs }),
  };
}
