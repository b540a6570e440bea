/**
 * The shard ledger (algorithms.md 3.5): each epoch is one permutation of the training set, cut into leases. A worker takes the
 * next lease when its own ends, so fast workers do more; a dead worker's unfinished lease goes to another. Its state can be
 * exported for a checkpoint, and a ledger restored from it gives out what was left then.
 */
import { assert } from '../base/assert.js';
import { type WorkerId, workerId } from '../base/ids.js';
import type { LedgerConfig } from './config.js';
import type { Lease, LedgerFacts, LedgerState } from './group.js';

/** What a checkpoint knows better than the ledger. */
export interface LedgerCut {
  /** Leases that the ledger calls finished, but whose end is not in the checkpoint. */
  readonly unfinished: readonly Lease[];
  /** Samples from the beginning of a lease that are in the checkpoint, by the lease's id; none where it is missing. */
  readonly processed: ReadonlyMap<number, number>;
}

export interface Ledger {
  /** The worker has completed this lease. False when it does not hold it. */
  finish(worker: WorkerId, lease: number): boolean;
  /** The next lease: unfinished ones that came back first. Null while there is none to give. */
  take(worker: WorkerId): Lease | null;
  /** The worker's unfinished lease goes back, to be given to another. */
  giveBack(worker: WorkerId): void;
  /** Whether the worker has a lease that is not finished. */
  holds(worker: WorkerId): boolean;
  /** The worker's unfinished lease; null without one. */
  heldBy(worker: WorkerId): Lease | null;
  /** The state as of a checkpoint: leases that are held count as open there, as nobody holds any after a resume. */
  exportState(cut: LedgerCut): LedgerState;
  /** The state as it is, for a controller that is started again. */
  exportFacts(): LedgerFacts;
  /** Grows with every change. */
  readonly version: number;
  /** Whether a lease could be taken. */
  readonly available: boolean;
  /** Whether every lease of every epoch is finished. */
  readonly complete: boolean;
}

/** `restored`: goes on from there (of a ledger with the same sizes; the number of epochs may differ). */
export function createLedger(config: LedgerConfig, restored: LedgerState | LedgerFacts | null = null): Ledger {
  const { sampleCount, epochs } = config;
  const leaseSamples = config.batchSamples * config.leaseBatches;
  const held = new Map<WorkerId, Lease>();
  const returned: Lease[] = [...(restored?.open ?? [])];
  let nextId = restored?.nextId ?? 0;
  let epoch = restored?.epoch ?? 0;
  let start = restored?.start ?? 0;
  let version = 0;
  if (restored !== null && 'held' in restored) {
    for (const { worker, lease } of restored.held) held.set(workerId(worker), lease);
  }
  assert(start < sampleCount, `a ledger of ${sampleCount} samples at position ${start}`);

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
      version += 1;
      return true;
    },
    take(worker) {
      const lease = returned.shift() ?? fresh();
      if (lease === null) return null;
      held.set(worker, lease);
      version += 1;
      return lease;
    },
    giveBack(worker) {
      const lease = held.get(worker);
      if (lease === undefined) return;
      held.delete(worker);
      version += 1;
      returned.push(lease);
      returned.sort((a, b) => a.id - b.id);
    },
    holds: (worker) => held.has(worker),
    heldBy: (worker) => held.get(worker) ?? null,
    exportState({ unfinished, processed }) {
      const open = new Map([...returned, ...held.values(), ...unfinished].map((lease) => [lease.id, lease]));
      const rests = [...open.values()].map((lease) => restOf(lease, processed.get(lease.id) ?? 0));
      return {
        nextId,
        epoch,
        start,
        open: rests.filter((lease) => lease.count > 0).toSorted((a, b) => a.id - b.id),
      };
    },
    exportFacts: () => ({
      nextId,
      epoch,
      start,
      open: [...returned],
      held: [...held].map(([worker, lease]) => ({ worker, lease })).toSorted((a, b) => a.worker - b.worker),
    }),
    get version() {
      return version;
    },
    get available() {
      return returned.length > 0 || epochs === null || epoch < epochs;
    },
    get complete() {
      return held.size === 0 && !this.available;
    },
  };
}

function restOf(lease: Lease, processed: number): Lease {
  assert(processed >= 0 && processed <= lease.count, `${processed} samples of a lease of ${lease.count}`);
  return { ...lease, start: lease.start + processed, count: lease.count - processed };
}
