/**
 * By which plan a group reduces. Both send the same bytes and give a sum that is the same at all members; what differs is the
 * number of rounds (direct 2, ring 2(n - 1)), of frames under way at a time, and of connections (direct all pairs, ring only
 * neighbours). Measured on two cores with `preduce bench collective --collective both`: see docs/decisions/0007.
 */
import type { CollectiveChoice, CollectiveName } from './config.js';

/** Members from which `auto` takes the ring. */
export const RING_MEMBERS_MIN = 8;

/** The plan of a group of `count` members. */
export function chooseCollective(choice: CollectiveChoice, count: number): CollectiveName {
  if (choice !== 'auto') return choice;
  return count >= RING_MEMBERS_MIN ? 'ring' : 'direct';
}
