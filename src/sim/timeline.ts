/**
 * Virtual time: what is to happen, in the order of its moments; at one moment in the order in which it was asked for, so that
 * a run repeats itself exactly.
 */
import { assert } from '../base/assert.js';
import { createHeap } from '../base/heap.js';

export interface Timeline {
  readonly nowMs: number;
  /** Moment of the next act; null: there is none. */
  readonly nextMs: number | null;
  /** `timeMs` must not lie in the past. */
  at(timeMs: number, act: () => void): void;
  after(delayMs: number, act: () => void): void;
  /** Lets time pass to the next act, and does it. */
  runNext(): void;
  /** Lets time pass, past no act. */
  advanceTo(timeMs: number): void;
}

interface Due {
  readonly timeMs: number;
  readonly order: number;
  readonly act: () => void;
}

/** Creates a timeline that stands at 0. */
export function createTimeline(): Timeline {
  const due = createHeap<Due>((a, b) => a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order));
  let nowMs = 0;
  let count = 0;

  function at(timeMs: number, act: () => void): void {
    assert(timeMs >= nowMs, `an act at ${timeMs} ms lies before now, ${nowMs} ms`);
    due.put({ timeMs, order: count, act });
    count += 1;
  }

  return {
    get nowMs() {
      return nowMs;
    },
    get nextMs() {
      return due.peek()?.timeMs ?? null;
    },
    at,
    after: (delayMs, act) => at(nowMs + delayMs, act),
    runNext() {
      const next = due.take();
      assert(next !== undefined, 'nothing is left to happen');
      nowMs = next.timeMs;
      next.act();
    },
    advanceTo(timeMs) {
      assert(timeMs >= nowMs && timeMs <= (due.peek()?.timeMs ?? timeMs), `${timeMs} ms is not the next moment`);
      nowMs = timeMs;
    },
  };
}
