/**
 * The result of a run in a few numbers, made from its events: the fields of `--json` and the rows of the tables. Pure:
 * a run, its record read back and a simulation give the same numbers.
 */
import type { CoreConfig } from '../core/config.js';
import type { FaultKind, RunEvent } from './run-events.js';
import { createUpdateCounts } from './update-counts.js';
import { createWorkerTimes, type WorkerTime } from './worker-time.js';

/** What the events do not tell. */
export interface SummaryFacts {
  readonly strategy: string;
  readonly workers: number;
  readonly groupSize: number;
  /** Null for strategies without weights of their own. */
  readonly weights: 'dynamic' | 'constant' | null;
  readonly seed: number;
  /** Test accuracy, a share from 0 to 1, whose first reaching gives `targetSeconds`; null: no target. */
  readonly targetAccuracy: number | null;
  /** Run directory. */
  readonly out: string | null;
}

/** The facts that follow from what the controller was told, beside those that do not. */
export function summaryFactsOf(
  { strategy, groupSize, weights }: Pick<CoreConfig, 'strategy' | 'groupSize' | 'weights'>,
  others: Pick<SummaryFacts, 'workers' | 'seed' | 'targetAccuracy' | 'out'>,
): SummaryFacts {
  return { strategy, groupSize, weights: strategy === 'partial-reduce' ? weights.rule : null, ...others };
}

export interface RunSummary extends SummaryFacts {
  /** On the run's clock: from the start of computing to the final model. */
  readonly wallSeconds: number;
  /** Null: no target, or not reached. Interpolated linearly between the two evaluations around it. */
  readonly targetSeconds: number | null;
  /** Changes of the model: committed groups with a weight above 0, and steps of a worker that was alone. */
  readonly updates: number;
  /** Those made up to `targetSeconds`; null where that is. */
  readonly updatesToTarget: number | null;
  readonly localSteps: number;
  readonly samples: number;
  /** Of the final model, or else of the last evaluation; null: there was none. */
  readonly testAccuracy: number | null;
  readonly testLoss: number | null;
  /** Waiting time / total time, mean over the workers. */
  readonly idleShare: number;
  /** Time in collectives / total time, mean over the workers. */
  readonly reduceShare: number;
  /** By worker number; 0 for a number that took no step. */
  readonly stepsPerWorker: readonly number[];
  /** Groups that committed, the final average not counted. */
  readonly groups: number;
  readonly rho: number | null;
  readonly maxGroupsToConnect: number | null;
  /** Time in which a full queue was held back for connectivity / wall time. */
  readonly holdShare: number;
  readonly bytesSent: number;
  /** Counts by kind; kinds that did not occur are left out. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
}

/** One point of the accuracy curve. */
export interface EvaluationPoint {
  readonly timeMs: number;
  readonly samples: number;
  readonly accuracy: number;
  readonly loss: number | null;
}

export interface SummaryBuilder {
  add(event: RunEvent): void;
  /** As far as the events go; before `runEnded` up to the last one. */
  result(): RunSummary;
  /** Updates made up to a moment of the run's clock. */
  updatesAt(timeMs: number): number;
  /** In the order of time. */
  evaluations(): readonly EvaluationPoint[];
  workerTimes(): readonly WorkerTime[];
}

/** Creates a builder; feed it a run's events in order. */
export function createSummary(facts: SummaryFacts): SummaryBuilder {
  const times = createWorkerTimes();
  const evaluations: EvaluationPoint[] = [];
  const faults: Partial<Record<FaultKind, number>> = {};
  const steps: number[] = Array.from({ length: facts.workers }, () => 0);
  let ended: Extract<RunEvent, { type: 'runEnded' }> | null = null;
  let lastMs = 0;
  let samples = 0;
  let groups = 0;
  const updates = createUpdateCounts();
  /** Open groups in which nobody has a weight: they only pull (ps-backup's late gradients), or nothing was finite. */
  const weightless = new Set<number>();
  let bytesSent = 0;

  function countFault(kind: FaultKind): void {
    faults[kind] = (faults[kind] ?? 0) + 1;
  }

  function add(event: RunEvent): void {
    times.add(event);
    if (ended === null) lastMs = Math.max(lastMs, event.timeMs);
    switch (event.type) {
      case 'ready':
        while (steps.length <= event.worker) steps.push(0);
        steps[event.worker] = (steps[event.worker] as number) + (event.steps ?? 1);
        samples += event.samples;
        return;
      case 'groupFormed':
        if (!event.weights.some((weight) => weight > 0)) weightless.add(event.group);
        return;
      case 'groupClosed': {
        const isWeightless = weightless.delete(event.group);
        if (event.kind !== 'step' || event.committed.length === 0) return;
        groups += 1;
        if (!isWeightless) updates.add(event.timeMs);
        return;
      }
      case 'released':
        updates.add(event.timeMs);
        return;
      case 'reduced':
        bytesSent += event.bytesSent;
        return;
      case 'evaluated': {
        const { timeMs, accuracy, loss } = event;
        evaluations.push({ timeMs, samples: event.samples, accuracy, loss });
        return;
      }
      case 'workerDead':
        return countFault('death');
      case 'fault':
        // A death has an event of its own.
        if (event.kind !== 'death') countFault(event.kind);
        return;
      case 'runEnded':
        ended = event;
        return;
      default:
    }
  }

  // An evaluation takes its time: a later one of fewer replicas may be told first.
  const sortedEvaluations = (): EvaluationPoint[] => evaluations.toSorted((a, b) => a.timeMs - b.timeMs);

  function result(): RunSummary {
    const points = sortedEvaluations();
    const last = points.at(-1);
    const workerTimes = times.result();
    const wallMs = ended?.timeMs ?? lastMs;
    const targetSeconds = secondsToTarget(points, facts.targetAccuracy);
    return {
      ...facts,
      wallSeconds: wallMs / 1000,
      targetSeconds,
      updates: updates.count,
      updatesToTarget: targetSeconds === null ? null : updates.at(1000 * targetSeconds),
      localSteps: ended?.localSteps ?? steps.reduce((sum, count) => sum + count, 0),
      samples: ended?.samples ?? samples,
      testAccuracy: last?.accuracy ?? null,
      testLoss: last?.loss ?? null,
      idleShare: meanShare(workerTimes, 'waitMs'),
      reduceShare: meanShare(workerTimes, 'reduceMs'),
      stepsPerWorker: [...steps],
      groups,
      rho: ended?.rho ?? null,
      maxGroupsToConnect: ended?.maxGroupsToConnect ?? null,
      holdShare: ended === null || wallMs <= 0 ? 0 : ended.holdMs / wallMs,
      bytesSent,
      faults: { ...faults },
    };
  }

  return { add, result, updatesAt: updates.at, evaluations: sortedEvaluations, workerTimes: times.result };
}

/** When the curve first reaches `target`, in seconds; `points` in the order of time. Null where it does not. */
export function secondsToTarget(points: readonly EvaluationPoint[], target: number | null): number | null {
  if (target === null) return null;
  const index = points.findIndex((point) => point.accuracy >= target);
  const reached = points[index];
  if (reached === undefined) return null;
  const before = points[index - 1];
  // Before the first evaluation the accuracy is not known: the time of that evaluation is an upper bound.
  if (before === undefined) return reached.timeMs / 1000;
  const share = (target - before.accuracy) / (reached.accuracy - before.accuracy);
  return (before.timeMs + share * (reached.timeMs - before.timeMs)) / 1000;
}

function meanShare(times: readonly WorkerTime[], part: 'waitMs' | 'reduceMs'): number {
  if (times.length === 0) return 0;
  const shares = times.map((time) => time[part] / (time.computeMs + time.waitMs + time.reduceMs));
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
