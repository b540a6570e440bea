import { describe, expect, it } from 'vitest';
import { createBatch, type Dataset, fillBatch, normalisedLevels, shortenBatch } from './dataset.js';

/** Three samples of two values: [0, 1], [10, 11], [20, 21], with labels 2, 1, 0; levels leave the bytes as they are. */
const tiny: Dataset = {
  name: 'tiny',
  sampleCount: 3,
  inputShape: [2],
  classCount: 3,
  images: Uint8Array.from([0, 1, 10, 11, 20, 21]),
  labels: Uint8Array.from([2, 1, 0]),
  levels: Float32Array.from({ length: 256 }, (_, byte) => byte),
};

describe('fillBatch', () => {
  it('copies the named samples in the order given', () => {
    const batch = createBatch(tiny, 4);
    fillBatch(tiny, Uint32Array.from([2, 0, 2, 1]), batch);
    expect([...batch.inputs]).toEqual([20, 21, 0, 1, 20, 21, 10, 11]);
    expect([...batch.labels]).toEqual([0, 2, 0, 1]);
  });

  it('starts at `from` and fills a shortened batch alone', () => {
    const whole = createBatch(tiny, 2);
    fillBatch(tiny, Int32Array.from([0, 2, 1]), shortenBatch(whole, 1), 2);
    expect([...whole.inputs]).toEqual([10, 11, 0, 0]);
    expect([...whole.labels]).toEqual([1, 0]);
  });

  it.each<[string, Int32Array]>([
    ['an index past the end', Int32Array.from([0, 3])],
    ['a negative index', Int32Array.from([0, -1])],
    ['too few indices', Int32Array.from([0])],
  ])('asserts against %s', (_, indices) => {
    expect(() => fillBatch(tiny, indices, createBatch(tiny, 2))).toThrow('assertion failed');
  });
});

describe('normalisedLevels', () => {
  it('maps bytes to (byte / 255 - mean) / deviation', () => {
    const levels = normalisedLevels(0.1307, 0.3081);
    expect(levels.length).toBe(256);
    expect(levels[0]).toBeCloseTo(-0.4242, 4);
    expect(levels[255]).toBeCloseTo(2.8215, 4);
  });
});

describe('shortenBatch', () => {
  it('cannot lengthen', () => {
    expect(() => shortenBatch(createBatch(tiny, 2), 3)).toThrow('assertion failed');
  });
});
