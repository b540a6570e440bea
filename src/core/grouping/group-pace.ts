/**
 * How fast groups form, as measured: what the default T is made of (algorithms.md 3.2).
 */
import type { WorkerId } from '../../base/ids.js';
import { iterationMedianMs, type Member } from '../member.js';

export interface GroupPace {
  formed(nowMs: number): void;
  /** Groups formed within the last median iteration of the slowest of these workers; 0 before any has taken a step. */
  perSlowestIteration(workers: readonly WorkerId[]): number;
}

/** What the pace needs of a run. */
export interface PaceContext {
  readonly members: ReadonlyMap<WorkerId, Member>;
  readonly nowMs: number;
}

/** Groups remembered for each worker there is: more than the default T can use. */
const GROUPS_PER_WORKER = 16;

export function createGroupPace(context: () => PaceContext): GroupPace {
  /** Ascending. */
  let formedMs: number[] = [];
  return {
    formed(nowMs) {
      formedMs.push(nowMs);
      const kept = GROUPS_PER_WORKER * Math.max(2, context().members.size);
      // Not each time: moving the rest costs.
      if (formedMs.length > 2 * kept) formedMs = formedMs.slice(-kept);
    },
    perSlowestIteration(workers) {
      const { members, nowMs } = context();
      const medians = workers.map((worker) => {
        const member = members.get(worker);
        return member === undefined ? 0 : (iterationMedianMs(member) ?? 0);
      });
      const sinceMs = nowMs - Math.max(0, ...medians);
      return formedMs.filter((timeMs) => timeMs > sinceMs).length;
    },
  };
}
