import { describe, expect, it } from 'vitest';
import { disagreements } from '../../../test/reference/disagreements.js';
import { referenceFlatten } from '../../../test/reference/flatten.js';
import { createGraph } from '../graph.js';
import { flatten } from './flatten.js';

describe('flatten', () => {
  it.each([{ shape: [3, 1, 4, 5] }, { shape: [2, 6] }, { shape: [4] }])(
    'agrees with the reference for shape $shape',
    async ({ shape }) => {
      expect(await disagreements({ xShape: shape, build: flatten, reference: referenceFlatten() })).toEqual([]);
    },
  );

  it('keeps the batch symbolic', () => {
    const graph = createGraph({ inputShape: [3, 4, 5], classCount: 2 });
    expect(flatten(graph, graph.input).shape).toEqual(['batch', 60]);
  });
});
