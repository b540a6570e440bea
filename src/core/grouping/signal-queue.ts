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
  /** Oldest first. */
  readonly signals: readonly Signal[];
}

export function createSignalQueue(): SignalQueue {
  const signals: Signal[] = [];
  return {
    signals,
    put(signal) {
      assert(!signals.some((queued) => queued.worker === signal.worker), `worker ${signal.worker} is queued already`);
      let position = signals.length;
      while (position > 0 && (signals[position - 1] as Signal).order > signal.order) position -= 1;
      signals.splice(position, 0, signal);
    },
    remove(worker) {
      const position = signals.findIndex((signal) => signal.worker === worker);
      return position < 0 ? null : (signals.splice(position, 1)[0] ?? null);
    },
  };
}
