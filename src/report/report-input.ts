/**
 * What a report is made of: one or several runs, and what they were asked to do.
 */
import { type MedianSummary, medianOf } from '../observe/median.js';
import type { RunStructure } from '../observe/run-structure.js';
import type { EvaluationPoint, RunSummary } from '../observe/summary.js';
import type { TunedStrategy } from '../observe/tuning-record.js';
import type { WorkerTime } from '../observe/worker-time.js';

/** One line of the tables at the end. */
export interface ReportFact {
  readonly name: string;
  readonly value: string | number;
}

/** A point of the curves; simulated problems may have no accuracy. */
export interface ReportPoint extends Omit<EvaluationPoint, 'accuracy'> {
  readonly accuracy: number | null;
}

/** What runs were to reach. */
export interface ReportTarget {
  readonly measure: 'accuracy' | 'loss';
  /** An accuracy is a share from 0 to 1. */
  readonly value: number;
}

export interface ReportRun {
  /** Name in tables and legends; runs of one label are repeats of the same settings. */
  readonly label: string;
  readonly summary: RunSummary;
  /** In the order of time. */
  readonly evaluations: readonly ReportPoint[];
  readonly workerTimes: readonly WorkerTime[];
  /** Share of the steps that took longer than the emulated device would have; null (default): none is emulated. */
  readonly overrunShare?: number | null;
  /** How it went, for pictures; default: they are left out. */
  readonly structure?: RunStructure;
}

export interface ReportInput {
  /** At least one, in the order of the table. */
  readonly runs: readonly ReportRun[];
  /** Default: made from the labels. */
  readonly title?: string;
  /** Test accuracy, 0 to 1; default: that of the first run. */
  readonly targetAccuracy?: number | null;
  /** Of simulations: a loss in the place of an accuracy. */
  readonly targetLoss?: number | null;
  /** Whether runs ended at the target: what their accuracy is of. Default false. */
  readonly stopAtTarget?: boolean;
  /** How each strategy's learning rate was found; null (default): nothing was tuned. */
  readonly tuned?: readonly TunedStrategy[] | null;
  /** Whether all times are virtual. Default false. */
  readonly isSimulated?: boolean;
  /** Time of an iteration on the reference device, where devices are emulated; in ms. */
  readonly referenceMs?: number | null;
  /** Gain over all-reduce if nobody ever waited and communication were free. */
  readonly idealSpeedUp?: number | null;
  /** What a reader must know of the numbers, such as that a record is cut off. */
  readonly notes?: readonly string[];
  /** What was asked for. */
  readonly settings?: readonly ReportFact[];
  /** Where it ran. */
  readonly environment?: readonly ReportFact[];
}

/** The repeats of one label. */
export interface ReportGroup {
  readonly label: string;
  readonly summary: MedianSummary;
  readonly runs: readonly ReportRun[];
  /** The repeat that comes closest to the median, for what only one run can show. */
  readonly typical: ReportRun;
}

/** Gathers repeats, in the order in which labels first appear. */
export function groupRuns(runs: readonly ReportRun[]): readonly ReportGroup[] {
  const labels = [...new Set(runs.map((run) => run.label))];
  return labels.map((label) => {
    const own = runs.filter((run) => run.label === label);
    const summary = medianOf(own.map((run) => run.summary));
    const distance = ({ summary: of }: ReportRun): number =>
      summary.targetSeconds === null
        ? Math.abs(of.wallSeconds - summary.wallSeconds)
        : Math.abs((of.targetSeconds ?? Number.MAX_VALUE) - summary.targetSeconds);
    const typical = own.reduce((best, run) => (distance(run) < distance(best) ? run : best));
    return { label, summary, runs: own, typical };
  });
}

/** The target of the whole report. */
export function targetOf({ targetAccuracy, targetLoss = null, runs }: ReportInput): ReportTarget | null {
  if (targetLoss !== null) return { measure: 'loss', value: targetLoss };
  const accuracy = targetAccuracy === undefined ? (runs[0]?.summary.targetAccuracy ?? null) : targetAccuracy;
  return accuracy === null ? null : { measure: 'accuracy', value: accuracy };
}

/** The all-reduce that others are compared with, if there is one. */
export function baselineOf(groups: readonly ReportGroup[]): ReportGroup | null {
  return groups.find((group) => group.summary.strategy === 'all-reduce') ?? null;
}

/** How many times sooner than `baseline` the target was reached; null where one of them did not reach it. */
export function speedUp(group: ReportGroup, baseline: ReportGroup | null): number | null {
  const own = group.summary.targetSeconds;
  const base = baseline?.summary.targetSeconds ?? null;
  return own === null || base === null || own <= 0 ? null : base / own;
}
