/**
 * The direct plan: reduce-scatter and all-gather straight between members. Each member owns one part of the vector,
 * receives the others' slices of it, sums them, and sends the sum to everybody.
 *
 * Rounds of transfers: 2. Bytes sent per member: 2 (n - 1) / n of the vector, the least possible. Messages: 2 (n - 1) per
 * member, which is little for the small groups of partial reduce; a ring has the same bytes in 2 (n - 1) rounds.
 */
import { assert } from '../../base/assert.js';
import type { Part, Plan, Transfer } from './plan.js';

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

/**
 * The steps of the member at `rank` among `count`, for a vector of `length` values: 2 (n - 1) sends, as many receives and
 * one reduce. Peers come in the order after the own rank, so that not everybody sends to rank 0 first.
 */
export function planDirect(rank: number, count: number, length: number): Plan {
  assert(rank >= 0 && rank < count, `rank ${rank} is one of ${count} members`);
  const parts = splitParts(length, count);
  const bytesOf = (part: number): number => BYTES_PER_VALUE * ((parts[part]?.end ?? 0) - (parts[part]?.start ?? 0));
  const peers = Array.from({ length: count - 1 }, (_, i) => (rank + 1 + i) % count);

  function transfers(phase: Transfer['phase'], kind: Transfer['kind'], partOf: (peer: number) => number): Transfer[] {
    return peers.map((peer) => ({ kind, phase, peer, part: partOf(peer), bytes: bytesOf(partOf(peer)) }));
  }
  const own = (): number => rank;
  const theirs = (peer: number): number => peer;

  return {
    name: 'direct',
    rank,
    count,
    parts,
    rounds: [
      [...transfers('reduce', 'send', theirs), ...transfers('reduce', 'receive', own)],
      [
        { kind: 'reduce', part: rank, bytes: bytesOf(rank) },
        ...transfers('gather', 'send', own),
        ...transfers('gather', 'receive', theirs),
      ],
    ],
  };
}
