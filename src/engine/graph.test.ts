import { describe, expect, it } from 'vitest';
import { createGraph } from './graph.js';
import { constant } from './initializers.js';
import { relu } from './ops/relu.js';

const options = { inputShape: [2], classCount: 2 };

describe('createGraph', () => {
  it('refuses two parameters of one name', () => {
    const graph = createGraph(options);
    graph.addParameter('weight', [1], constant(0));
    expect(() => graph.addParameter('weight', [1], constant(0))).toThrow('one tensor named weight');
  });

  it.each([[[0]], [[2, -1]], [[1.5]], [[Number.NaN]]])('refuses a parameter of shape %j', (shape) => {
    expect(() => createGraph(options).addParameter('weight', shape, constant(0))).toThrow('dimensions of at least 1');
  });

  it.each([0, 1.5, Number.NaN])('refuses a mask that keeps a share of %d', (share) => {
    expect(() => createGraph(options).addMask([2], share)).toThrow('keeps a share in (0, 1]');
  });

  it('knows which values have a parameter upstream', () => {
    const graph = createGraph(options);
    const weight = graph.addParameter('weight', [2], constant(0));
    expect(relu(graph, graph.input).needsGradient).toBe(false);
    expect(relu(graph, relu(graph, weight)).needsGradient).toBe(true);
  });

  it('has one outcome, with a scalar loss', () => {
    const graph = createGraph(options);
    const scalar = { name: 'loss', shape: [], needsGradient: true };
    expect(() => graph.setOutcome(graph.input, graph.input)).toThrow('the loss is a scalar, not of shape [batch, 2]');
    graph.setOutcome(graph.input, scalar);
    expect(() => graph.setOutcome(graph.input, scalar)).toThrow('one loss');
  });
});
