/**
 * Reverse-mode automatic differentiation, ahead of time: walks a model's operations backwards and lets each append
 * its gradient, so that one ONNX graph computes the loss and the gradient of every parameter in one run.
 */
import { assertPresent } from '../base/assert.js';
import { type Graph, type Mode, updateName, type Value } from './graph.js';
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

function inputPorts(graph: Graph, mode: Mode): OnnxPort[] {
  const masks = mode === 'training' ? graph.masks : [];
  const values = [...graph.parameters, ...graph.auxiliary, ...masks];
  return [port(graph.input), port(graph.labels, 'int32'), ...values.map((value) => port(value))];
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
 * The training graph. Inputs: `graph.input`, `graph.labels`, each parameter, auxiliary tensor and mask, by name.
 * Outputs: `loss` (scalar), `gradient/NAME` of each parameter and `update/NAME` of each auxiliary tensor that some
 * operation updates, in its shape.
 */
export function buildTrainingGraph(graph: Graph): OnnxGraph {
  const builder = createOnnxBuilder();
  for (const operation of graph.operations) operation.forward(builder, 'training');
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
  for (const auxiliary of graph.operations.flatMap(({ updates = [] }) => updates)) {
    outputs.push({ name: updateName(auxiliary), type: 'float32', shape: auxiliary.shape });
  }
  return builder.finish(inputPorts(graph, 'training'), outputs);
}

/**
 * The evaluation graph. Inputs: as for training, without masks. Outputs: `loss` (scalar) and `correct` (scalar,
 * int32), the number of samples whose largest score is their label.
 */
export function buildEvaluationGraph(graph: Graph): OnnxGraph {
  const builder = createOnnxBuilder();
  for (const operation of graph.operations) operation.forward(builder, 'evaluation');
  const { scores, loss } = graph.outcome;
  builder.node('Identity', [loss.name], {}, LOSS_OUTPUT);
  const best = builder.node('ArgMax', [scores.name], { axis: { int: 1 }, keepdims: { int: 0 } });
  const hits = builder.node('Equal', [builder.node('Cast', [best], { to: { type: 'int32' } }), graph.labels.name]);
  const ones = builder.node('Cast', [hits], { to: { type: 'int32' } });
  builder.node('ReduceSum', [ones], { keepdims: { int: 0 } }, CORRECT_OUTPUT);
  return builder.finish(inputPorts(graph, 'evaluation'), [
    { name: LOSS_OUTPUT, type: 'float32', shape: [] },
    { name: CORRECT_OUTPUT, type: 'int32', shape: [] },
  ]);
}
