import { describe, expect, it } from 'vitest';
import { referenceBatchNorm } from '../../../test/reference/batch-norm.js';
import { disagreements } from '../../../test/reference/disagreements.js';
import { createGraph } from '../graph.js';
import { batchNorm } from './batch-norm.js';

describe('batchNorm', () => {
  it.each([
    { shape: [4, 3, 5, 2], epsilon: 1e-5, centre: 0 },
    { shape: [2, 1, 1, 1], epsilon: 0.1, centre: 0 },
    { shape: [6, 5], epsilon: 1e-3, centre: 0 },
    { shape: [8, 2, 7], epsilon: 1e-5, centre: 3 },
    { shape: [1, 4, 3, 3], epsilon: 1e-5, centre: -1 },
  ])('agrees with the reference for shape $shape around $centre, epsilon $epsilon', async (options) => {
    const { shape, epsilon, centre } = options;
    const [, channels = 1, ...rest] = shape;
    const positions = rest.reduce((product, size) => product * size, 1);
    const found = await disagreements({
      xShape: shape,
      build: (graph, x) => batchNorm(graph, x, { name: 'layer', epsilon }),
      reference: referenceBatchNorm(channels, positions, epsilon),
      draw: (random) => centre + random.normal(),
    });
    expect(found).toEqual([]);
  });

  it('adds two parameters and two auxiliary tensors per layer', () => {
    const graph = createGraph({ inputShape: [3, 4, 4], classCount: 2 });
    expect(batchNorm(graph, graph.input, { name: 'layer' }).shape).toEqual(['batch', 3, 4, 4]);
    expect(graph.parameters.map(({ name, shape }) => [name, shape])).toEqual([
      ['layer.weight', [3]],
      ['layer.bias', [3]],
    ]);
    expect(graph.auxiliary.map(({ name, shape }) => [name, shape])).toEqual([
      ['layer.running_mean', [3]],
      ['layer.running_var', [3]],
    ]);
  });

  it('refuses an input without channels', () => {
    const graph = createGraph({ inputShape: [], classCount: 2 });
    expect(() => batchNorm(graph, graph.input, { name: 'layer' })).toThrow('layer takes [batch, channels, ...]');
  });
});
