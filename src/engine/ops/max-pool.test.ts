import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryWindow } from '../../../test/reference/arbitrary-window.js';
import { disagreements } from '../../../test/reference/disagreements.js';
import { referenceMaxPool } from '../../../test/reference/pool.js';
import { createGraph } from '../graph.js';
import { maxPool } from './max-pool.js';

describe('maxPool', () => {
  it('agrees with the reference for random shapes, overlapping windows too', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryWindow({ channelsMax: 3, isPool: true }), async (window) => {
        const found = await disagreements({
          xShape: [window.batch, window.channels, window.height, window.width],
          build: (graph, x) => maxPool(graph, x, window),
          reference: referenceMaxPool(window),
        });
        expect(found).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });

  it('steps by its kernel unless told otherwise', () => {
    const graph = createGraph({ inputShape: [3, 7, 6], classCount: 2 });
    expect(maxPool(graph, graph.input, { kernel: 2 }).shape).toEqual(['batch', 3, 3, 3]);
    expect(maxPool(graph, graph.input, { kernel: 2, stride: 1 }).shape).toEqual(['batch', 3, 6, 5]);
  });

  it('refuses windows that lie in the padding alone', () => {
    const graph = createGraph({ inputShape: [3, 7, 6], classCount: 2 });
    expect(() => maxPool(graph, graph.input, { kernel: 3, padding: 2 })).toThrow('at most half of its kernel');
  });
});
