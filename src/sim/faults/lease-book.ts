/**
 * The books of the data, kept apart from the controller's own ledger (algorithms.md 3.5): who has which lease, and which samples
 * the steps of which leases have used. Every lease is held by one worker at a time and finished once; no sample of an epoch is
 * used twice for good; when the data are used up, every one was used.
 */
import { assert, assertPresent } from '../../base/assert.js';
import { type WorkerId, workerId } from '../../base/ids.js';
import type { LedgerConfig } from '../../core/config.js';
import type { Lease, LedgerFacts, LedgerState } from '../../core/group.js';

export interface LeaseBook {
  /** Whether some of its samples were given before. */
  give(worker: WorkerId, lease: Lease): boolean;
  /** Steps of this many samples were taken from the worker's lease. */
  use(worker: WorkerId, samples: number): void;
  /** Gives the lease that was finished. */
  finish(worker: WorkerId, lease: number): Lease;
  /** The worker is back, and has used so many samples of the lease that it works on; null: of none. What else it held never reached it. */
  takeUp(worker: WorkerId, lease: number | null, used: number): void;
  /** The worker is gone, or has finished: what it began is not counted. */
  giveBack(worker: WorkerId): void;
  heldBy(worker: WorkerId): Lease | null;
  /** How many samples of its lease the worker has used. */
  usedBy(worker: WorkerId): number;
  /** Samples used for good, by their place in all epochs laid end to end. */
  readonly used: ReadonlySet<number>;
  checkEnd(reason: string): void;
}

/** Places of a lease's first `count` samples, in all epochs laid end to end. */
export function placesOf({ sampleCount }: LedgerConfig, lease: Lease, count = lease.count): readonly number[] {
  const first = lease.epoch * sampleCount + lease.start;
  return Array.from({ length: count }, (_, i) => first + i);
}

/** Null, for `ledger`: a run without one. `restored`: what a run had come to that goes on here. */
export function createLeaseBook(ledger: LedgerConfig | null, restored: LedgerState | LedgerFacts | null): LeaseBook {
  const held = new Map<WorkerId, { readonly lease: Lease; used: number }>();
  const given = new Set<number>();
  const finished = new Set<number>();
  const used = new Set<number>();

  function config(): LedgerConfig {
    return assertPresent(ledger, 'a lease is of a ledger, which');
  }

  if (restored !== null) {
    const { sampleCount } = config();
    for (let place = 0; place < restored.epoch * sampleCount + restored.start; place += 1) used.add(place);
    const holders = 'held' in restored ? restored.held : [];
    for (const { worker, lease } of holders) held.set(workerId(worker), { lease, used: 0 });
    const unfinished = [...restored.open, ...holders.map(({ lease }) => lease)];
    for (const lease of unfinished) for (const place of placesOf(config(), lease)) used.delete(place);
  }

  return {
    used,
    give(worker, lease) {
      assert(!held.has(worker), `worker ${worker} has a lease already`);
      assert(!finished.has(lease.id), `lease ${lease.id} is given, but was finished`);
      assert(lease.count > 0, `lease ${lease.id} is empty`);
      for (const other of held.values())
        assert(other.lease.id !== lease.id, `lease ${lease.id} is given to two workers`);
      for (const place of placesOf(config(), lease))
        assert(!used.has(place), `sample ${place} is given to worker ${worker}, but was used`);
      held.set(worker, { lease, used: 0 });
      const isKnown = given.has(lease.id);
      given.add(lease.id);
      return isKnown;
    },
    use(worker, samples) {
      if (ledger === null) return;
      const holding = assertPresent(held.get(worker), `the lease that worker ${worker} takes samples from`);
      holding.used += samples;
      assert(holding.used <= holding.lease.count, `worker ${worker} uses more than its lease`);
    },
    finish(worker, id) {
      const holding = held.get(worker);
      assert(holding?.lease.id === id, `worker ${worker} finishes lease ${id}, which it does not hold`);
      const { lease } = holding;
      assert(holding.used === lease.count, `worker ${worker} finishes a lease of ${lease.count} after ${holding.used}`);
      for (const place of placesOf(config(), lease)) {
        assert(!used.has(place), `sample ${place} is used twice, the second time by worker ${worker}`);
        used.add(place);
      }
      held.delete(worker);
      finished.add(id);
      return lease;
    },
    takeUp(worker, lease, samples) {
      const holding = held.get(worker);
      if (holding === undefined) return assert(lease === null, `worker ${worker} is back with lease ${lease}`);
      if (holding.lease.id === lease) holding.used = samples;
      else held.delete(worker);
    },
    giveBack: (worker) => void held.delete(worker),
    heldBy: (worker) => held.get(worker)?.lease ?? null,
    usedBy: (worker) => held.get(worker)?.used ?? 0,
    checkEnd(reason) {
      if (ledger?.epochs == null || reason !== 'all data were processed') return;
      const total = ledger.epochs * ledger.sampleCount;
      for (let place = 0; place < total; place += 1)
        assert(used.has(place), `sample ${place} of ${total} was never used`);
      assert(used.size === total, `${used.size} samples were used, but there are ${total}`);
    },
  };
}
