import { describe, expect, it } from 'vitest';
import { disagreements } from '../../../test/reference/disagreements.js';
import { createGraph } from '../graph.js';
import { constant } from '../initializers.js';
import { add } from './add.js';

describe('add', () => {
  it('agrees with the reference', async () => {
    const found = await disagreements({
      xShape: [3, 4],
      build: (graph, x) => add(graph, x, graph.addParameter('other', [3, 4], constant(0))),
      reference: {
        forward: ([a, b]) => (a as Float64Array).map((value, i) => value + (b?.[i] as number)),
        backward: (_inputs, gradient) => [gradient, gradient],
      },
    });
    expect(found).toEqual([]);
  });

  it('refuses tensors of two shapes', () => {
    const graph = createGraph({ inputShape: [4], classCount: 2 });
    const other = graph.addParameter('other', [4], constant(0));
    expect(() => add(graph, graph.input, other)).toThrow('one shape, not [batch, 4] and [4]');
  });
});
