/**
 * Which of the servers' updates each worker's parameters contain, for strategies whose parameters lie at servers (algorithms.md
 * 6). Servers apply groups in the order in which they were formed, so that counting at the controller is exact; they take back the
 * update of an aborted group if nobody holds it and no later one was announced, and so does this book.
 */
import type { GroupId, WorkerId } from '../base/ids.js';
import type { Group } from './group.js';
import type { Roster } from './roster.js';
import { createSlowest } from './slowest.js';
import type { Pulls } from './strategies/strategy.js';

export interface PullBook extends Pulls {
  /** The servers are told: its members will pull what it makes. */
  formed(group: Group): void;
  /** It holds what its last group pulled. */
  pulled(worker: WorkerId): void;
  aborted(group: GroupId): void;
  /** It gets the parameters that `donor` holds. */
  handedOver(joiner: WorkerId, donor: WorkerId): void;
}

export function createPullBook(roster: Roster): PullBook {
  const held = new Map<WorkerId, number>();
  const coming = new Map<WorkerId, number>();
  let updates = 0;
  /** The last group with an update; null: it was aborted. */
  let last: GroupId | null = null;
  return {
    get updates() {
      return updates;
    },
    pulledAt: (worker) => held.get(worker) ?? 0,
    slowest: createSlowest(roster),
    formed({ id, members: pullers }) {
      if (pullers.some(({ weight }) => weight > 0)) {
        updates += 1;
        last = id;
      }
      for (const { worker } of pullers) coming.set(worker, updates);
    },
    pulled: (worker) => void held.set(worker, coming.get(worker) ?? updates),
    aborted(group) {
      if (group !== last) return;
      updates -= 1;
      last = null;
      // Whoever was done holds an update that is no more; the next one will not be in it.
      for (const [worker, at] of held) held.set(worker, Math.min(at, updates));
      for (const [worker, at] of coming) coming.set(worker, Math.min(at, updates));
    },
    handedOver: (joiner, donor) => void held.set(joiner, held.get(donor) ?? 0),
  };
}
