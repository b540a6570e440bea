import { describe, expect, it } from 'vitest';
import { disagreements } from '../../test/reference/disagreements.js';
import { referenceRelu } from '../../test/reference/relu.js';
import { buildEvaluationGraph, buildTrainingGraph } from './autodiff.js';
import { createGraph, type Graph } from './graph.js';
import { constant } from './initializers.js';
import { linear } from './ops/linear.js';
import { relu } from './ops/relu.js';
import { softmaxCrossEntropy } from './ops/softmax-cross-entropy.js';

function smallModel(): Graph {
  const graph = createGraph({ inputShape: [4], classCount: 3 });
  const hidden = relu(graph, linear(graph, graph.input, { name: 'hidden', outputs: 5 }));
  const scores = linear(graph, hidden, { name: 'scores', outputs: 3 });
  graph.setOutcome(scores, softmaxCrossEntropy(graph, scores));
  return graph;
}

describe('buildTrainingGraph', () => {
  it('takes the batch and the parameters, and gives the loss and one gradient per parameter', () => {
    const { inputs, outputs } = buildTrainingGraph(smallModel());
    const names = ['hidden.weight', 'hidden.bias', 'scores.weight', 'scores.bias'];
    expect(inputs.map(({ name }) => name)).toEqual(['input', 'labels', ...names]);
    expect(outputs.map(({ name }) => name)).toEqual(['loss', ...names.map((name) => `gradient/${name}`)]);
    expect(outputs[1]?.shape).toEqual([5, 4]);
  });

  it('computes no gradient with respect to the data', () => {
    const gemms = buildTrainingGraph(smallModel()).nodes.filter(({ opType }) => opType === 'Gemm');
    // two forward, two for the weights, one for the hidden activations
    expect(gemms.length).toBe(5);
  });

  it('adds up the gradients of a value that is used twice', async () => {
    expect(
      await disagreements({
        xShape: [3, 4],
        // relu(x) + relu(-x) = |x|
        build: (graph, x) => {
          const negative = graph.operation('negate', [x], x.shape, (y) => ({
            forward: (builder) => void builder.node('Neg', [x.name], {}, y.name),
            backward: (builder, gradient) => [builder.node('Neg', [gradient])],
          }));
          const parts = [relu(graph, x), relu(graph, negative)];
          return graph.operation('add', parts, x.shape, (y) => ({
            forward(builder) {
              builder.node(
                'Add',
                parts.map(({ name }) => name),
                {},
                y.name,
              );
            },
            backward: (_builder, gradient) => [gradient, gradient],
          }));
        },
        reference: {
          forward: ([x]) => (x as Float64Array).map(Math.abs),
          backward: ([x], gradient) => [gradient.map((g, i) => g * Math.sign(x?.[i] as number))],
        },
      }),
    ).toEqual([]);
  });

  it('refuses a parameter that the loss does not depend on', () => {
    const graph = smallModel();
    graph.addParameter('spare', [2], constant(0));
    expect(() => buildTrainingGraph(graph)).toThrow('a path from spare to the loss');
  });

  it('refuses a model without a loss', () => {
    expect(() => buildTrainingGraph(createGraph({ inputShape: [4], classCount: 3 }))).toThrow(
      'end a model with a loss',
    );
  });
});

describe('buildEvaluationGraph', () => {
  it('gives the loss and the number of correct samples, and no gradients', () => {
    const { outputs, nodes } = buildEvaluationGraph(smallModel());
    expect(outputs.map(({ name, type }) => `${name}: ${type}`)).toEqual(['loss: float32', 'correct: int32']);
    expect(nodes.filter(({ opType }) => opType === 'Gemm').length).toBe(2);
  });
});

describe('disagreements (the check behind these tests)', () => {
  const wrong = {
    forward: referenceRelu().forward,
    backward: (_inputs: unknown, gradient: Float64Array) => [gradient],
  };
  const leaky = {
    forward: ([x]: readonly Float64Array[]) => (x as Float64Array).map((value) => Math.max(value, value / 100)),
    backward: ([x]: readonly Float64Array[], gradient: Float64Array) => [
      gradient.map((g, i) => ((x?.[i] as number) > 0 ? g : g / 100)),
    ],
  };

  it.each([
    { what: 'a reference whose gradient is not that of its output', reference: wrong, count: 2 },
    { what: 'a reference of another operation', reference: leaky, count: 2 },
  ])('finds $what', async ({ reference, count }) => {
    expect((await disagreements({ xShape: [3, 4], build: relu, reference })).length).toBe(count);
  });
});
