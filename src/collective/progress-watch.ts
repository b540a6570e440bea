/**
 * Who holds a collective up: a member that is there, and sends nothing (algorithms.md 3.3). Time is counted in ticks of a timer,
 * not read from a clock, so that whoever was paused itself accuses nobody when it wakes.
 *
 * A member that waits for another waits, in later rounds of the plan, also for those who wait for the same one. So the later the
 * round that is awaited, the longer it may take, up to twice the time: the first to lose patience is the one whom the culprit
 * itself owes something.
 */

/** Ticks of the timer in the time-out. */
export const TICKS_PER_TIMEOUT = 10;

/** Pauses of the collectives before, from which the next one's patience follows. */
const PAUSES_KEPT = 16;
/** Times the longest of them. */
const PAUSE_MARGIN = 3;
/** The most that patience may grow to, in time-outs. */
const TIMEOUTS_MAX = 8;

/** How long a member may pause, in ticks: the time-out, more where longer pauses turned out well or a collective was given up. */
export interface Patience {
  readonly ticks: number;
  /** A collective ended well; its longest pause, in ticks. */
  ended(longestPause: number): void;
  /** One was given up for want of progress. */
  stalled(): void;
}

export function createPatience(): Patience {
  const pauses: number[] = [];
  let factor = 1;
  return {
    get ticks() {
      const ticks = factor * Math.max(TICKS_PER_TIMEOUT, PAUSE_MARGIN * Math.max(0, ...pauses));
      return Math.min(ticks, TIMEOUTS_MAX * TICKS_PER_TIMEOUT);
    },
    ended(longestPause) {
      factor = 1;
      pauses.push(longestPause);
      if (pauses.length > PAUSES_KEPT) pauses.shift();
    },
    stalled() {
      factor = Math.min(2 * factor, TIMEOUTS_MAX);
    },
  };
}

/** A peer as it is at a tick. */
export interface PeerProgress {
  readonly rank: number;
  /** What came from it and what it took, in bytes, all in all. */
  readonly bytes: number;
  /** How late in the collective that comes which it owes: 0 at the beginning, 1 at the end; null: it owes nothing now. */
  readonly lateness: number | null;
}

export interface ProgressWatch {
  /** To be called at each tick. Gives the peer that has paused for too long; null: none has. */
  tick(peers: readonly PeerProgress[]): number | null;
  /** In ticks, of peers that owed something. */
  readonly longestPause: number;
}

/** The watch of one collective. */
export function createProgressWatch(patienceTicks: number): ProgressWatch {
  const seen = new Map<number, { bytes: number; pause: number }>();
  let longestPause = 0;

  function pauseOf({ rank, bytes, lateness }: PeerProgress): number {
    const before = seen.get(rank);
    const pause = before === undefined || before.bytes !== bytes || lateness === null ? 0 : before.pause + 1;
    seen.set(rank, { bytes, pause });
    return pause;
  }

  return {
    tick(peers) {
      let stalled: { readonly rank: number; readonly overdue: number } | null = null;
      for (const peer of peers) {
        const pause = pauseOf(peer);
        longestPause = Math.max(longestPause, pause);
        const overdue = pause / (patienceTicks * (1 + (peer.lateness ?? 0)));
        if (overdue >= 1 && overdue > (stalled?.overdue ?? 0)) stalled = { rank: peer.rank, overdue };
      }
      return stalled?.rank ?? null;
    },
    get longestPause() {
      return longestPause;
    },
  };
}
