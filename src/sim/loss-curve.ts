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

/** What a run is to come to. */
export interface CurveTarget {
  readonly of: 'loss' | 'accuracy';
  readonly value: number;
}

export interface LossCurve {
  /** Evaluates the mean of these replicas. Gives whether the target is reached. */
  add(when: Pick<LossPoint, 'timeMs' | 'samples' | 'localSteps'>, replicas: readonly Float32Array[]): boolean;
  /** In the order of time. */
  readonly points: readonly LossPoint[];
  /** When the target was first reached, interpolated between two evaluations; null: no target, or not reached. */
  readonly targetMs: number | null;
}

export function createLossCurve(problem: Problem, target: CurveTarget | null): LossCurve {
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
      if (target !== null && targetMs === null) targetMs = crossing(before, point, target);
      return targetMs !== null;
    },
  };
}

/** When the curve came to the target, where it did between these two points. */
function crossing(before: LossPoint | undefined, after: LossPoint, { of, value }: CurveTarget): number | null {
  /** How far there is to go, 0 or less where nothing is left; NaN where it is not known. */
  const left = (point: LossPoint): number =>
    of === 'loss' ? point.loss - value : value - (point.accuracy ?? Number.NaN);
  if (!(left(after) <= 0)) return null;
  if (before === undefined || !(left(before) > 0)) return after.timeMs;
  const share = left(before) / (left(before) - left(after));
  return before.timeMs + share * (after.timeMs - before.timeMs);
}
