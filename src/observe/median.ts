/**
 * One summary of several repeats of a run: the median of each number.
 */
import { assertPresent } from '../base/assert.js';
import type { FaultKind } from './run-events.js';
import type { RunSummary } from './summary.js';

export interface MedianSummary extends RunSummary {
  /** The repeats that the medians are taken of, in the order in which they ran. */
  readonly runs: readonly RunSummary[];
}

/** Median; the mean of the middle two where their number is even. `values` is not empty. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = assertPresent(sorted[Math.floor(sorted.length / 2)], 'a value to take the median of');
  if (sorted.length % 2 === 1) return upper;
  return ((sorted[sorted.length / 2 - 1] as number) + upper) / 2;
}

/** Median of values that may be unknown, where unknown counts as beyond every number; null where the median is unknown. */
function medianOrNull(values: readonly (number | null)[]): number | null {
  const found = median(values.map((value) => value ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(found) ? found : null;
}

/** The ends of what repeats gave. */
export interface Spread {
  readonly least: number;
  /** Null: unknown, which counts as beyond every number. */
  readonly most: number | null;
}

/** Null where nothing is known, or there is only one value. */
export function spreadOf(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((value) => value !== null);
  if (values.length < 2 || known.length === 0) return null;
  return { least: Math.min(...known), most: known.length < values.length ? null : Math.max(...known) };
}

/** Median of the values that are known. */
function medianOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : median(known);
}

/**
 * Medians of one or more runs of the same settings. A target that a run did not reach counts as an infinite time; faults
 * are added up, for a median would hide the rare ones; facts (strategy, seed, out …) are the first run's.
 */
export function medianOf(runs: readonly RunSummary[]): MedianSummary {
  const first = assertPresent(runs[0], 'a run to summarise');
  const of = (pick: (run: RunSummary) => number): number => median(runs.map(pick));
  const workerCount = Math.max(...runs.map((run) => run.stepsPerWorker.length));
  return {
    ...first,
    wallSeconds: of((run) => run.wallSeconds),
    targetSeconds: medianOrNull(runs.map((run) => run.targetSeconds)),
    updates: of((run) => run.updates),
    updatesToTarget: medianOrNull(runs.map((run) => run.updatesToTarget)),
    localSteps: of((run) => run.localSteps),
    samples: of((run) => run.samples),
    testAccuracy: medianOfKnown(runs.map((run) => run.testAccuracy)),
    testLoss: medianOrNull(runs.map((run) => run.testLoss)),
    idleShare: of((run) => run.idleShare),
    reduceShare: of((run) => run.reduceShare),
    stepsPerWorker: Array.from({ length: workerCount }, (_, worker) => of((run) => run.stepsPerWorker[worker] ?? 0)),
    groups: of((run) => run.groups),
    rho: medianOfKnown(runs.map((run) => run.rho)),
    maxGroupsToConnect: medianOfKnown(runs.map((run) => run.maxGroupsToConnect)),
    holdShare: of((run) => run.holdShare),
    bytesSent: of((run) => run.bytesSent),
    faults: addFaults(runs),
    runs,
  };
}

function addFaults(runs: readonly RunSummary[]): RunSummary['faults'] {
  const total: Partial<Record<FaultKind, number>> = {};
  for (const { faults } of runs) {
    for (const [kind, count] of Object.entries(faults)) {
      total[kind as FaultKind] = (total[kind as FaultKind] ?? 0) + count;
    }
  }
  return total;
}
