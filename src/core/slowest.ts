/**
 * The active worker that has completed the fewest iterations, found without looking at everybody each time: while the same
 * workers are active nobody's count falls, so whoever has passed the least count need not be looked at until all have.
 */
import type { Member } from './member.js';
import type { Roster } from './roster.js';
import type { Pulls } from './strategies/strategy.js';

/** Iterations completed by an active member. */
function completed({ k, signal }: Member): number {
  return signal?.k ?? k;
}

/** Gives the slowest; of equals the one of the lowest number. */
export function createSlowest(roster: Roster): Pulls['slowest'] {
  let version = 0;
  /** Ascending. */
  let active: readonly Member[] = [];
  let least = 0;
  /** All before have completed more than `least`. */
  let position = 0;

  function passBy(): Member | undefined {
    while (position < active.length && completed(active[position] as Member) > least) position += 1;
    return active[position];
  }

  function startAnew(): void {
    least = active.reduce((min, member) => Math.min(min, completed(member)), Number.POSITIVE_INFINITY);
    position = 0;
  }

  return () => {
    if (roster.version('active') !== version) {
      version = roster.version('active');
      active = roster.list('active');
      startAnew();
    } else if (passBy() === undefined) startAnew();
    const slowest = passBy();
    return slowest === undefined ? null : { worker: slowest.worker, k: least };
  };
}
