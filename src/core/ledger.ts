/**
 * The shard ledger (algorithms.md 3.5): each epoch is one permutation of the training set, cut into leases. A worker takes the
 * next lease when its own ends, so fast workers do more; a dead worker's unfinished lease goes to another.
 */
import type { WorkerId } from '../base/ids.js';
import type { LedgerConfig } from './config.js';
import type { Lease } from './group.js';

export interface Ledger {
  /** The worker has completed this lease. False when it does not hold it. */
  finish(worker: WorkerId, lease: number): boolean;
  /** The next lease: unfinished ones that came back first. Null while there is none to give. */
  take(worker: WorkerId): Lease | null;
  /** The worker's unfinished lease goes back, to be given to another. */
  giveBack(worker: WorkerId): void;
  /** Whether the worker has a lease that is not finished. */
  holds(worker: WorkerId): boolean;
  /** Whether a lease could be taken. */
  readonly available: boolean;
  /** Whether every lease of every epoch is finished. */
  readonly complete: boolean;
}

export function createLedger(config: LedgerConfig): Ledger {
  const { sampleCount, epochs } = config;
  const leaseSamples = config.batchSamples * config.leaseBatches;
  const held = new Map<WorkerId, Lease>();
  const returned: Lease[] = [];
  let nextId = 0;
  let epoch = 0;
  let start = 0;

  function fresh(): Lease | null {
    if (epochs !== null && epoch >= epochs) return null;
    const lease = { id: nextId, epoch, start, count: Math.min(leaseSamples, sampleCount - start) };
    nextId += 1;
    start += lease.count;
    if (start === sampleCount) {
      epoch += 1;
      start = 0;
    }
    return lease;
  }

  return {
    finish(worker, lease) {
      if (held.get(worker)?.id !== lease) return false;
      held.delete(worker);
      return true;
    },
    take(worker) {
      const lease = returned.shift() ?? fresh();
      if (lease !== null) held.set(worker, lease);
      return lease;
    },
    giveBack(worker) {
      const lease = held.get(worker);
      if (lease === undefined) return;
      held.delete(worker);
      returned.push(lease);
      returned.sort((a, b) => a.id - b.id);
    },
    holds: (worker) => held.has(worker),
    get available() {
      return returned.length > 0 || epochs === null || epoch < epochs;
    },
    get complete() {
      return held.size === 0 && !this.available;
    },
  };
}
