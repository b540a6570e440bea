/**
 * The loss of the mean replica against virtual time, and when it reached a target.
 */
import { meanOf } from './mean-replica.js';
import type { Problem } from './problem.js';

export interface LossPoint {
  readonly timeMs: number;
  readonly samples: number;
  readonly localSteps: number;
  readonly loss: number;
  readonly accuracy: number | null;
}

export interface LossCurve {
  /** Evaluates the mean of these replicas. Gives whether the target is reached. */
  add(when: Pick<LossPoint, 'timeMs' | 'samples' | 'localSteps'>, replicas: readonly Float32Array[]): boolean;
  /** In the order of time. */
  readonly points: readonly LossPoint[];
  /** When the loss first came down to the target, interpolated between two evaluations; null: no target, or not reached. */
  readonly targetMs: number | null;
}

export function createLossCurve(problem: Problem, target: number | null): LossCurve {
  const points: LossPoint[] = [];
  let targetMs: number | null = null;
  return {
    points,
    get targetMs() {
      return targetMs;
    },
    add(when, replicas) {
      const before = points.at(-1);
      const point = { ...when, ...problem.evaluate(meanOf(replicas)) };
      points.push(point);
      if (target !== null && targetMs === null && point.loss <= target) targetMs = crossing(before, point, target);
      return targetMs !== null;
    },
  };
}

function crossing(before: LossPoint | undefined, after: LossPoint, target: number): number {
  if (before === undefined || before.loss <= after.loss) return after.timeMs;
  const share = (before.loss - target) / (before.loss - after.loss);
  return before.timeMs + share * (after.timeMs - before.timeMs);
}
