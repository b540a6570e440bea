import { describe, expect, it } from 'vitest';
import { partBytes, splitParts } from './parts.js';

const LENGTHS = [0, 1, 2, 15, 16, 17, 7919, 100_003];
const CASES = Array.from({ length: 16 }, (_, i) => i + 1).flatMap((count) =>
  LENGTHS.map((length) => ({ count, length })),
);

describe('splitParts', () => {
  it.each(CASES)('cuts $length values for $count members without a gap, evenly', ({ count, length }) => {
    const parts = splitParts(length, count);
    expect(parts.length).toBe(count);
    expect(parts[0]?.start).toBe(0);
    expect(parts.at(-1)?.end).toBe(length);
    parts.slice(1).forEach((part, i) => expect(part.start).toBe(parts[i]?.end));
    const sizes = parts.map(({ start, end }) => end - start);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    expect(parts.map((_, i) => partBytes(parts, i))).toEqual(sizes.map((size) => 4 * size));
  });
});
