/**
 * What the report is told of a run: its results as they are, its settings in words. The report itself knows nothing of
 * strategies or workloads, so the translation is made here.
 */
import { formatDuration } from '../base/units.js';
import type { ReportFact, ReportRun } from '../report/report-input.js';
import { describeOptimization } from '../training/optimization.js';
import type { ResolvedRun } from './run-options.js';
import type { RunResult } from './run-output.js';

/** One run of a report. Nothing is copied: the result's own arrays are shown. */
export function reportRun(result: RunResult): ReportRun {
  const { label, summary, evaluations, workerTimes, overrunShare, structure } = result;
  return { label, summary, evaluations, workerTimes, overrunShare, structure };
}

/** The settings that the runs of a comparison share; strategy, weights and seed are told per label by the report. */
export function reportSettings(run: ResolvedRun): readonly ReportFact[] {
  const { core, training } = run;
  const { ledger } = core;
  const facts: readonly (ReportFact | null)[] = [
    { name: 'Workload', value: training.workload },
    training.dataDirectory === null ? null : { name: 'Data', value: training.dataDirectory },
    ledger === null ? null : { name: 'Training samples', value: ledger.sampleCount.toLocaleString('en-US') },
    { name: 'Length', value: lengthOf(run) },
    { name: 'Batch', value: `${training.batchSamples} samples per worker and step` },
    { name: 'Optimizer', value: describeOptimization(training) },
    { name: 'Emulated devices', value: training.slow.length === 0 ? 'none' : training.slow.join(', ') },
    { name: 'Engine threads', value: `${training.threads} per worker` },
  ];
  return facts.filter((fact) => fact !== null);
}

/** What ends the run, whichever comes first. */
function lengthOf({ core, durationMs, stopAtTarget, targetAccuracy }: ResolvedRun): string {
  const epochs = core.ledger?.epochs ?? null;
  const ends = [
    epochs === null ? null : `${epochs} ${epochs === 1 ? 'epoch' : 'epochs'}`,
    core.maxLocalSteps === null ? null : `${core.maxLocalSteps.toLocaleString('en-US')} local steps of all workers`,
    durationMs === null ? null : formatDuration(durationMs),
    stopAtTarget && targetAccuracy !== null ? 'when the target is reached' : null,
  ].filter((end) => end !== null);
  return ends.length === 0 ? 'until stopped' : ends.join(', or ');
}
