import { describe, expect, it } from 'vitest';
import { disagreements } from '../../../test/reference/disagreements.js';
import { referenceLinear } from '../../../test/reference/linear.js';
import { createGraph } from '../graph.js';
import { linear } from './linear.js';

describe('linear', () => {
  it.each([
    { batch: 1, inputs: 1, outputs: 1, bias: true },
    { batch: 4, inputs: 7, outputs: 3, bias: true },
    { batch: 3, inputs: 2, outputs: 9, bias: false },
    { batch: 17, inputs: 33, outputs: 10, bias: true },
  ])('agrees with the reference for batch $batch, $inputs -> $outputs, bias $bias', async (options) => {
    const { batch, inputs, outputs } = options;
    expect(
      await disagreements({
        xShape: [batch, inputs],
        build: (graph, x) => linear(graph, x, { name: 'layer', ...options }),
        reference: referenceLinear(batch, inputs, outputs),
      }),
    ).toEqual([]);
  });

  it('names its parameters and shapes them as PyTorch does', () => {
    const graph = createGraph({ inputShape: [5], classCount: 2 });
    const y = linear(graph, graph.input, { name: 'layer', outputs: 3 });
    expect(y.shape).toEqual(['batch', 3]);
    expect(graph.parameters.map(({ name, shape }) => ({ name, shape }))).toEqual([
      { name: 'layer.weight', shape: [3, 5] },
      { name: 'layer.bias', shape: [3] },
    ]);
  });

  it('refuses an input that is not flat, naming the layer', () => {
    const graph = createGraph({ inputShape: [1, 28, 28], classCount: 2 });
    expect(() => linear(graph, graph.input, { name: 'layer', outputs: 3 })).toThrow(
      'layer takes [batch, inputs], not [batch, 1, 28, 28]',
    );
  });
});
