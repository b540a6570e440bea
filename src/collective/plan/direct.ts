/**
 * The direct plan: reduce-scatter and all-gather straight between members. Each member owns one part of the vector,
 * receives the others' slices of it, sums them, and sends the sum to everybody.
 *
 * Rounds of transfers: 2. Bytes sent per member: 2 (n - 1) / n of the vector, the least possible. Messages: 2 (n - 1) per
 * member, which is little for the small groups of partial reduce; a ring has the same bytes in 2 (n - 1) rounds.
 */
import { assert } from '../../base/assert.js';
import { partBytes, splitParts } from './parts.js';
import type { Plan, Transfer } from './plan.js';

/**
 * The steps of the member at `rank` among `count`, for a vector of `length` values: 2 (n - 1) sends, as many receives and
 * one reduce. Peers come in the order after the own rank, so that not everybody sends to rank 0 first.
 */
export function planDirect(rank: number, count: number, length: number): Plan {
  assert(rank >= 0 && rank < count, `rank ${rank} is one of ${count} members`);
  const parts = splitParts(length, count);
  const peers = Array.from({ length: count - 1 }, (_, i) => (rank + 1 + i) % count);

  function transfers(phase: Transfer['phase'], kind: Transfer['kind'], partOf: (peer: number) => number): Transfer[] {
    return peers.map((peer) => ({
      kind,
      phase,
      peer,
      part: partOf(peer),
      terms: phase === 'reduce' ? 1 : count,
      bytes: partBytes(parts, partOf(peer)),
    }));
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
        { kind: 'reduce', part: rank, sources: parts.map((_, j) => j), terms: count, bytes: partBytes(parts, rank) },
        ...transfers('gather', 'send', own),
        ...transfers('gather', 'receive', theirs),
      ],
    ],
  };
}
