/**
 * The direct plan: reduce-scatter and all-gather straight between members. Each member owns one part of the vector,
 * receives the others' slices of it, sums them, and sends the sum to everybody.
 *
 * Steps: 2. Bytes sent per member: 2 (n - 1) / n of the vector, the least possible. Messages: 2 (n - 1) per member, which
 * is little for the small groups of partial reduce; a ring has the same bytes in 2 (n - 1) steps.
 */

/** Positions [start, end) of the vector, in values. */
export interface Part {
  readonly start: number;
  readonly end: number;
}

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
