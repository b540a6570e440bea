import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryWindow } from '../../../test/reference/arbitrary-window.js';
import { referenceConv } from '../../../test/reference/conv.js';
import { disagreements } from '../../../test/reference/disagreements.js';
import type { ReferenceWindow } from '../../../test/reference/window.js';
import { createGraph } from '../graph.js';
import { conv } from './conv.js';

async function check(window: ReferenceWindow, outputs: number, groups: number, bias: boolean): Promise<string[]> {
  return disagreements({
    xShape: [window.batch, window.channels, window.height, window.width],
    build: (graph, x) => conv(graph, x, { name: 'layer', ...window, outputs, groups, bias }),
    reference: referenceConv(window, outputs, groups),
  });
}

describe('conv', () => {
  it('agrees with the reference for random shapes, strides, paddings and groups', async () => {
    // channels reach above and below the threshold between the two formulations of the weight's gradient
    const shapes = fc.record({
      window: arbitraryWindow({ channelsMax: 12, isPool: false }),
      outputsPerGroup: fc.integer({ min: 1, max: 3 }),
      groups: fc.integer({ min: 1, max: 3 }),
      bias: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(shapes, async ({ window, outputsPerGroup, groups, bias }) => {
        const widened = { ...window, channels: window.channels * groups };
        expect(await check(widened, outputsPerGroup * groups, groups, bias)).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });

  const square = (channels: number, size: number, kernel: number, stride: number, padding: number) => ({
    batch: 2,
    channels,
    height: size,
    width: size,
    kernel: [kernel, kernel] as const,
    stride: [stride, stride] as const,
    padding: [padding, padding] as const,
  });

  it.each([
    { what: 'many channels', window: square(9, 5, 3, 1, 1), outputs: 4, groups: 1 },
    { what: 'many channels, stride 2', window: square(10, 6, 3, 2, 1), outputs: 3, groups: 1 },
    { what: '1x1', window: square(12, 3, 1, 1, 0), outputs: 5, groups: 1 },
    { what: '1x1, stride 2', window: square(12, 4, 1, 2, 0), outputs: 5, groups: 1 },
    { what: '1x1, padded', window: square(9, 3, 1, 1, 1), outputs: 2, groups: 1 },
    { what: 'one group per channel', window: square(12, 5, 3, 1, 1), outputs: 12, groups: 12 },
    { what: 'a kernel as large as its input', window: square(9, 3, 3, 1, 0), outputs: 4, groups: 1 },
  ])('agrees with the reference: $what', async ({ window, outputs, groups }) => {
    expect(await check(window, outputs, groups, true)).toEqual([]);
  });

  it('infers its shape and names its parameters', () => {
    const graph = createGraph({ inputShape: [4, 9, 8], classCount: 2 });
    const y = conv(graph, graph.input, {
      name: 'layer',
      outputs: 6,
      kernel: [3, 2],
      stride: 2,
      padding: [1, 0],
      groups: 2,
    });
    expect(y.shape).toEqual(['batch', 6, 5, 4]);
    expect(graph.parameters.map(({ name, shape }) => [name, shape])).toEqual([
      ['layer.weight', [6, 2, 3, 2]],
      ['layer.bias', [6]],
    ]);
  });

  it.each([
    { what: 'a flat input', inputShape: [784], options: {}, message: 'layer takes [batch, channels, height, width]' },
    { what: 'a kernel too large', inputShape: [1, 2, 9], options: {}, message: 'a 3x3 kernel does not fit 2x9' },
    { what: 'a stride of 0', inputShape: [1, 5, 5], options: { stride: 0 }, message: 'stride of at least 1' },
    { what: 'half a kernel', inputShape: [1, 5, 5], options: { kernel: 1.5 }, message: 'kernel and a stride' },
    { what: 'negative padding', inputShape: [1, 5, 5], options: { padding: -1 }, message: 'padding of at least 0' },
    { what: 'uneven groups', inputShape: [3, 5, 5], options: { groups: 2 }, message: 'layer: 2 groups' },
  ])('refuses $what', ({ inputShape, options, message }) => {
    const graph = createGraph({ inputShape, classCount: 2 });
    expect(() => conv(graph, graph.input, { name: 'layer', outputs: 4, kernel: 3, ...options })).toThrow(message);
  });
});
