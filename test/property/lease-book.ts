/**
 * The books of the leases, kept apart from the controller's own ledger (algorithms.md 3.5).
 */
import { assert } from '../../src/base/assert.js';
import type { WorkerId } from '../../src/base/ids.js';
import type { Lease } from '../../src/core/group.js';
import type { Scenario } from './scenario.js';

/** Every lease is held by one worker at a time and finished once; when the data are used up, they were used as a whole. */
export function createLeaseBook({ ledger }: Scenario) {
  const holders = new Map<WorkerId, Lease>();
  const given = new Map<number, Lease>();
  const finished = new Set<number>();
  return {
    /** Whether it was given before. */
    give(worker: WorkerId, lease: Lease): boolean {
      assert(!holders.has(worker), `worker ${worker} has a lease already`);
      assert(!finished.has(lease.id), `lease ${lease.id} is given, but was finished`);
      for (const held of holders.values()) assert(held.id !== lease.id, `lease ${lease.id} is given to two workers`);
      holders.set(worker, lease);
      const known = given.get(lease.id);
      given.set(lease.id, lease);
      return known !== undefined;
    },
    finish(worker: WorkerId, lease: number): void {
      assert(holders.get(worker)?.id === lease, `worker ${worker} finishes lease ${lease}, which it does not hold`);
      holders.delete(worker);
      finished.add(lease);
    },
    giveBack(worker: WorkerId): void {
      holders.delete(worker);
    },
    checkEnd(reason: string): void {
      if (ledger === null || ledger.epochs === null || reason !== 'all data were processed') return;
      const all = [...given.values()].toSorted((a, b) => a.id - b.id);
      assert(all.length === finished.size, `${finished.size} of ${all.length} leases were finished`);
      let position = 0;
      for (const { epoch, start, count } of all) {
        assert(epoch * ledger.sampleCount + start === position, `a gap in the data at ${position}`);
        position += count;
      }
      assert(position === ledger.epochs * ledger.sampleCount, `the data end at ${position}`);
    },
  };
}
