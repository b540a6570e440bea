import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryWindow } from '../../../test/reference/arbitrary-window.js';
import { disagreements } from '../../../test/reference/disagreements.js';
import { referenceAveragePool } from '../../../test/reference/pool.js';
import { createGraph } from '../graph.js';
import { averagePool } from './average-pool.js';
import { globalAveragePool } from './global-average-pool.js';

describe('averagePool', () => {
  it('agrees with the reference for random shapes', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryWindow({ channelsMax: 3, isPool: true }), async (window) => {
        const found = await disagreements({
          xShape: [window.batch, window.channels, window.height, window.width],
          build: (graph, x) => averagePool(graph, x, window),
          reference: referenceAveragePool(window),
        });
        expect(found).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });
});

describe('globalAveragePool', () => {
  it.each([
    { batch: 1, channels: 1, height: 1, width: 1 },
    { batch: 3, channels: 5, height: 4, width: 7 },
  ])('agrees with the reference for $batch x $channels x $height x $width', async (shape) => {
    const { batch, channels, height, width } = shape;
    const found = await disagreements({
      xShape: [batch, channels, height, width],
      build: globalAveragePool,
      reference: referenceAveragePool({ ...shape, kernel: [height, width], stride: [1, 1], padding: [0, 0] }),
    });
    expect(found).toEqual([]);
  });

  it('gives one number per channel, and refuses flat inputs', () => {
    const graph = createGraph({ inputShape: [3, 7, 6], classCount: 2 });
    const y = globalAveragePool(graph, graph.input);
    expect(y.shape).toEqual(['batch', 3]);
    expect(() => globalAveragePool(graph, y)).toThrow('takes [batch, channels, height, width], not [batch, 3]');
  });
});
