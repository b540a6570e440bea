/**
 * Random windows that fit, for property tests.
 */
import * as fc from 'fast-check';
import type { ReferenceWindow } from './window.js';

export interface WindowLimits {
  readonly channelsMax: number;
  /** Whether padding is held to half of the kernel, as pooling needs. */
  readonly isPool: boolean;
}

function pairOf(least: number, most: number): fc.Arbitrary<[number, number]> {
  return fc.tuple(fc.integer({ min: least, max: most }), fc.integer({ min: least, max: most }));
}

export function arbitraryWindow({ channelsMax, isPool }: WindowLimits): fc.Arbitrary<ReferenceWindow> {
  return fc
    .record({
      batch: fc.integer({ min: 1, max: 3 }),
      channels: fc.integer({ min: 1, max: channelsMax }),
      kernel: pairOf(1, 4),
      stride: pairOf(1, 3),
      padding: pairOf(0, 2),
      spare: pairOf(0, 5),
    })
    .map(({ kernel, padding, spare, ...rest }) => {
      const limit = (axis: 0 | 1) => (isPool ? Math.min(padding[axis], Math.floor(kernel[axis] / 2)) : padding[axis]);
      const held: [number, number] = [limit(0), limit(1)];
      const size = (axis: 0 | 1) => Math.max(1, kernel[axis] - 2 * held[axis]) + spare[axis];
      return { ...rest, kernel, padding: held, height: size(0), width: size(1) };
    });
}
