/**
 * Branded identifiers, so that an index, a worker and a group cannot be confused by the compiler.
 */

declare const brand: unique symbol;

/** A worker's number within its run: 0, 1, 2 … in the order of joining; a worker that returns keeps its number. */
export type WorkerId = number & { readonly [brand]: 'WorkerId' };

/** One formed group: `term * 2^32 + sequence`, so that groups of a restarted controller never collide with old ones. */
export type GroupId = number & { readonly [brand]: 'GroupId' };

/** One lease of the shard ledger, counted from 0 over the whole run. */
export type LeaseId = number & { readonly [brand]: 'LeaseId' };

const SEQUENCES_PER_TERM = 2 ** 32;

export function workerId(value: number): WorkerId {
  return value as WorkerId;
}

export function leaseId(value: number): LeaseId {
  return value as LeaseId;
}

/** The id of the `sequence`-th group of controller term `term` (below 2^21, so that the id is a safe integer). */
export function groupId(term: number, sequence: number): GroupId {
  return (term * SEQUENCES_PER_TERM + sequence) as GroupId;
}

/** The inverse of `groupId`. */
export function splitGroupId(group: GroupId): { readonly term: number; readonly sequence: number } {
  return { term: Math.floor(group / SEQUENCES_PER_TERM), sequence: group % SEQUENCES_PER_TERM };
}
