/**
 * How a vector is cut into one part for each member.
 */
import type { Part } from './plan.js';

const BYTES_PER_VALUE = Float32Array.BYTES_PER_ELEMENT;

/** Cuts `length` values into `count` parts whose sizes differ by at most one; part r belongs to rank r. */
export function splitParts(length: number, count: number): readonly Part[] {
  const base = Math.floor(length / count);
  const larger = length % count;
  let start = 0;
  return Array.from({ length: count }, (_, rank) => {
    const end = start + base + (rank < larger ? 1 : 0);
    const part = { start, end };
    start = end;
    return part;
  });
}

/** Bytes of the part at `index`. */
export function partBytes(parts: readonly Part[], index: number): number {
  const { start, end } = parts[index] ?? { start: 0, end: 0 };
  return BYTES_PER_VALUE * (end - start);
}
