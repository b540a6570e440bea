/**
 * Reverse-mode automatic differentiation, ahead of time: walks a model's operations backwards and lets each append
 * its gradient, so that one ONNX graph computes the loss and the gradient of every parameter in one run.
 */
import { assertPresent } from '../base/assert.js';
import type { Graph, Value } from './graph.js';
import { createOnnxBuilder, type OnnxBuilder, type OnnxGraph, type OnnxPort, type OnnxType } from './onnx-graph.js';

export const LOSS_OUTPUT = 'loss';
export const CORRECT_OUTPUT = 'correct';

/** Name of the output that holds the gradient of the parameter `name`. */
export function gradientOutput(name: string): string {
  return `gradient/${name}`;
}

function port(value: Value, type: OnnxType = 'float32'): OnnxPort {
  return { name: value.name, type, shape: value.shape };
}

function inputPorts(graph: Graph): OnnxPort[] {
  return [port(graph.input), port(graph.labels, 'int32'), ...graph.parameters.map((parameter) => port(parameter))];
}

/** Names of the gradients of the loss by value, once every operation behind it has added its part. */
function appendBackward(graph: Graph, builder: OnnxBuilder): Map<Value, string> {
  const one = builder.constant('float32', [1], []);
  const gradients = new Map<Value, string>([[graph.outcome.loss, one]]);
  for (const operation of graph.operations.toReversed()) {
    const gradient = gradients.get(operation.output);
    if (gradient === undefined || !operation.output.needsGradient) continue;
    const parts = operation.backward(builder, gradient);
    operation.inputs.forEach((input, i) => {
      const part = parts[i];
      if (part === null || part === undefined) return;
      const sum = gradients.get(input);
      gradients.set(input, sum === undefined ? part : builder.node('Add', [sum, part]));
    });
  }
  return gradients;
}

/**
 * The training graph. Inputs: `graph.input`, `graph.labels` and each parameter, by name. Outputs: `loss` (scalar)
 * and `gradient/NAME` of each parameter, in its shape.
 */
export function buildTrainingGraph(graph: Graph): OnnxGraph {
  const builder = createOnnxBuilder();
  for (const operation of graph.operations) operation.forward(builder);
  const gradients = appendBackward(graph, builder);
  const outputs: OnnxPort[] = [{ name: LOSS_OUTPUT, type: 'float32', shape: [] }];
  builder.node('Identity', [graph.outcome.loss.name], {}, LOSS_OUTPUT);
  for (const parameter of graph.parameters) {
    const name = gradientOutput(parameter.name);
    const gradient = assertPresent(gradients.get(parameter), `a path from ${parameter.name} to the loss`);
    // An Identity gives the output its name even if two parameters share a gradient; the runtime removes it.
    builder.node('Identity', [gradient], {}, name);
    outputs.push({ name, type: 'float32', shape: parameter.shape });
  }
  return builder.finish(inputPorts(graph), outputs);
}

/** The evaluation graph. Inputs as for training. Outputs: `loss` (scalar) and `correct` (scalar, int32). */
export function buildEvaluationGraph(graph: Graph): OnnxGraph {
  const builder = createOnnxBuilder();
  for (const operation of graph.operations) operation.forward(builder);
  const { scores, loss } = graph.outcome;
  builder.node('Identity', [loss.name], {}, LOSS_OUTPUT);
  const best = builder.node('ArgMax', [scores.name], { axis: { int: 1 }, keepdims: { int: 0 } });
  const hits = builder.node('Equal', [builder.node('Cast', [best], { to: { type: 'int32' } }), graph.labels.name]);
  const ones = builder.node('Cast', [hits], { to: { type: 'int32' } });
  builder.node('ReduceSum', [ones], { keepdims: { int: 0 } }, CORRECT_OUTPUT);
  return builder.finish(inputPorts(graph), [
    { name: LOSS_OUTPUT, type: 'float32', shape: [] },
    { name: CORRECT_OUTPUT, type: 'int32', shape: [] },
  ]);
}
