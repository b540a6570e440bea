/**
 * By which plan a group reduces. Both send the same bytes and give a sum that is the same at all members; what differs is the
 * number of rounds (direct 2, ring 2(n - 1)) and of connections (direct n(n - 1), ring 2n). In time neither wins by more than
 * the noise from a megabyte on, so `auto` goes by the connections (docs/decisions/0007).
 */
import type { CollectiveChoice, CollectiveName } from './config.js';

/** Members from which `auto` takes the ring. */
export const RING_MEMBERS_MIN = 16;

/** The plan of a group of `count` members. */
export function chooseCollective(choice: CollectiveChoice, count: number): CollectiveName {
  if (choice !== 'auto') return choice;
  return count >= RING_MEMBERS_MIN ? 'ring' : 'direct';
}
