/**
 * The signal queue: READY signals in the order of their arrival. A signal that comes back after an abort takes its old place.
 */
import { assert } from '../../base/assert.js';
import type { WorkerId } from '../../base/ids.js';

/** One READY. */
export interface Signal {
  readonly worker: WorkerId;
  /** The worker's iteration number, the step just taken included. */
  readonly k: number;
  readonly finite: boolean;
  /** Position among all signals of the run. */
  readonly order: number;
  readonly sinceMs: number;
}

export interface SignalQueue {
  /** Puts a signal at the place that its order gives. At most one per worker. */
  put(signal: Signal): void;
  remove(worker: WorkerId): Signal | null;
  has(worker: WorkerId): boolean;
  /** Oldest first. */
  readonly signals: readonly Signal[];
}

export function createSignalQueue(): SignalQueue {
  const signals: Signal[] = [];
  const byWorker = new Map<WorkerId, Signal>();

  /** Position of the first signal that is not older; its end where there is none. */
  function positionOf(order: number): number {
    let [low, high] = [0, signals.length];
    // Most come last and go first.
    if (high > 0 && (signals[high - 1] as Signal).order < order) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((signals[middle] as Signal).order < order) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    signals,
    put(signal) {
      assert(!byWorker.has(signal.worker), `worker ${signal.worker} is queued already`);
      byWorker.set(signal.worker, signal);
      signals.splice(positionOf(signal.order), 0, signal);
    },
    remove(worker) {
      const signal = byWorker.get(worker);
      if (signal === undefined) return null;
      byWorker.delete(worker);
      signals.splice(positionOf(signal.order), 1);
      return signal;
    },
    has: (worker) => byWorker.has(worker),
  };
}
