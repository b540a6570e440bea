/**
 * Virtual time: what is due, in the order of its time, then of its scheduling. `fleet` work comes from the fleet itself
 * (messages, computing, collectives); `world` work comes from outside (joins, deaths, a stop), so that a run with no fleet work left is
 * known to be stuck even though somebody may still join it.
 */
import { assert } from '../../src/base/assert.js';

export type Source = 'fleet' | 'world';

export interface Timeline {
  readonly nowMs: number;
  /** Work of the fleet that is still to come. */
  readonly fleetPending: number;
  /** Time of the next work; null: none is left. */
  readonly nextMs: number | null;
  at(timeMs: number, source: Source, work: () => void): void;
  after(delayMs: number, source: Source, work: () => void): void;
  runNext(): void;
  advanceTo(timeMs: number): void;
}

interface Due {
  readonly timeMs: number;
  readonly source: Source;
  readonly work: () => void;
}

export function createTimeline(): Timeline {
  /** Latest first, so that the next is popped. */
  const dues: Due[] = [];
  let nowMs = 0;
  let fleetPending = 0;

  function at(timeMs: number, source: Source, work: () => void): void {
    assert(timeMs >= nowMs, `scheduled for the past: ${timeMs} at ${nowMs}`);
    let position = dues.length;
    while (position > 0 && (dues[position - 1] as Due).timeMs <= timeMs) position -= 1;
    dues.splice(position, 0, { timeMs, source, work });
    if (source === 'fleet') fleetPending += 1;
  }

  return {
    at,
    after: (delayMs, source, work) => at(nowMs + delayMs, source, work),
    runNext() {
      const due = dues.pop();
      assert(due !== undefined, 'nothing is due');
      nowMs = due.timeMs;
      if (due.source === 'fleet') fleetPending -= 1;
      due.work();
    },
    advanceTo(timeMs) {
      nowMs = Math.max(nowMs, timeMs);
    },
    get nowMs() {
      return nowMs;
    },
    get fleetPending() {
      return fleetPending;
    },
    get nextMs() {
      return dues.at(-1)?.timeMs ?? null;
    },
  };
}
