/**
 * The ring: a reduce-scatter and an all-gather in which each member sends to the one after it and receives from the one
 * before it. A part starts at the member after its owner and collects a term at each hop; the owner adds the last one and
 * sends the sum round. 2 (n - 1) / n of the vector leave each member, as with the direct plan, in 2 (n - 1) rounds instead
 * of 2, and only neighbours need a connection. Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms
 * for clusters of workstations" (2009), as in gloo and NCCL; here the ranks are shifted so that part r ends at rank r.
 */
import { assert } from '../../base/assert.js';
import { partBytes, splitParts } from './parts.js';
import type { Plan, Round, Step } from './plan.js';

/**
 * The steps of the member at `rank` among `count`, for a vector of `length` values: 2 (n - 1) rounds of one send and one
 * receive each, and a reduce in the n - 1 in the middle.
 */
export function planRing(rank: number, count: number, length: number): Plan {
  assert(rank >= 0 && rank < count, `rank ${rank} is one of ${count} members`);
  const parts = splitParts(length, count);
  const next = (rank + 1) % count;
  const former = (rank + count - 1) % count;
  /** The part `hops` before the own one. */
  const partBefore = (hops: number): number => (((rank - hops) % count) + count) % count;

  /** What came in the round before, with the own term added. */
  function reduce(round: number): Step {
    const part = partBefore(round + 1);
    const sources = count === 1 ? [rank] : [former, rank];
    return { kind: 'reduce', part, sources, terms: round + 1, bytes: partBytes(parts, part) };
  }

  function transfers(phase: 'reduce' | 'gather', sent: number, terms: number): Step[] {
    const received = partBefore(sent + 1);
    const part = partBefore(sent);
    return [
      { kind: 'send', phase, peer: next, part, terms, bytes: partBytes(parts, part) },
      { kind: 'receive', phase, peer: former, part: received, terms, bytes: partBytes(parts, received) },
    ];
  }

  const scatter = Array.from(
    { length: count - 1 },
    (_, round): Round => [...(round === 0 ? [] : [reduce(round)]), ...transfers('reduce', round + 1, round + 1)],
  );
  const gather = Array.from(
    { length: Math.max(1, count - 1) },
    (_, round): Round => [
      ...(round === 0 ? [reduce(count - 1)] : []),
      ...(count === 1 ? [] : transfers('gather', round, count)),
    ],
  );
  return { name: 'ring', rank, count, parts, rounds: [...scatter, ...gather] };
}
