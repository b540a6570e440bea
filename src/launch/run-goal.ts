/**
 * Where a run ends, as far as that is known before: what displays measure its progress by.
 */
import type { CoreConfig } from '../core/config.js';
import type { Progress } from '../core/group.js';

/** The run ends at the first that is reached; null: not by this. */
export interface RunGoal {
  readonly samples: number | null;
  readonly localSteps: number | null;
  readonly timeMs: number | null;
}

/** A moment of a run. */
export interface RunMoment extends Progress {
  readonly timeMs: number;
}

const MEASURES = ['samples', 'localSteps', 'timeMs'] as const;

/** The end that a run's settings name. */
export function goalOf({ ledger, maxLocalSteps }: CoreConfig, durationMs: number | null): RunGoal {
  const samples = ledger === null || ledger.epochs === null ? null : ledger.epochs * ledger.sampleCount;
  return { samples, localSteps: maxLocalSteps, timeMs: durationMs };
}

/** Share of the way that is done, 0 to 1; null where no end is known. */
export function shareDone(goal: RunGoal, now: RunMoment): number | null {
  const shares = MEASURES.flatMap((measure) => {
    const end = goal[measure];
    return end === null ? [] : [now[measure] / end];
  });
  return shares.length === 0 ? null : Math.min(1, Math.max(0, ...shares));
}

/** Time to the end at the speed since `start`, in ms; null where no end is known, or no speed. */
export function timeLeftMs(goal: RunGoal, start: RunMoment, now: RunMoment): number | null {
  const lefts = MEASURES.flatMap((measure) => {
    const end = goal[measure];
    if (end === null) return [];
    const left = Math.max(0, end - now[measure]);
    if (measure === 'timeMs') return [left];
    const done = now[measure] - start[measure];
    return done <= 0 ? [] : [(left * (now.timeMs - start.timeMs)) / done];
  });
  return lefts.length === 0 ? null : Math.min(...lefts);
}
