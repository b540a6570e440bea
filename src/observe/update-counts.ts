/**
 * How many updates a run had made at any moment, in memory that does not grow with its length: once there are too many
 * moments to keep, every second is dropped. An evaluation is told after its moment, so the count is needed of the past.
 */

export interface UpdateCounts {
  /** One more update, at `timeMs` on the run's clock, not before the last. */
  add(timeMs: number): void;
  /** All of them. */
  readonly count: number;
  /** Up to and with `timeMs`; of a long run rounded down, by less than one in 4,096 of all. */
  at(timeMs: number): number;
}

/** Even, so that dropping every second moment leaves the last one. */
const MOMENTS_MAX = 8192;

export function createUpdateCounts(): UpdateCounts {
  /** Of update number `stride`, 2 `stride` … */
  let moments: number[] = [];
  let stride = 1;
  let count = 0;
  return {
    add(timeMs) {
      count += 1;
      if (count % stride !== 0) return;
      moments.push(timeMs);
      if (moments.length < MOMENTS_MAX) return;
      moments = moments.filter((_, index) => index % 2 === 1);
      stride *= 2;
    },
    get count() {
      return count;
    },
    at(timeMs) {
      let low = 0;
      let high = moments.length;
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if ((moments[middle] as number) <= timeMs) low = middle + 1;
        else high = middle;
      }
      return low * stride;
    },
  };
}
