/**
 * The result of one run in a few lines.
 */
import { formatBytes, formatDuration } from '../base/units.js';
import type { RunResult } from '../launch/run-output.js';
import type { RunSummary } from '../observe/summary.js';
import { uniformRho } from '../observe/uniform-rho.js';

/** Of a run with a workload: accuracy, work, waiting, and where model and report lie. */
export function describeRun(result: RunResult): string {
  const { label, summary, interrupted } = result;
  const accuracy = summary.testAccuracy === null ? 'not evaluated' : `${(100 * summary.testAccuracy).toFixed(2)} %`;
  const lines = [
    `${label}: test accuracy ${accuracy} after ${formatDuration(1000 * summary.wallSeconds)}` +
      (interrupted ? ' (interrupted, drained and saved)' : ''),
    ...workLines(summary),
    ...rhoLines(summary),
    ...(summary.targetSeconds === null
      ? []
      : [`  target ${summary.targetAccuracy} reached after ${summary.targetSeconds.toFixed(1)} s`]),
    `  model   ${result.modelFile}`,
    `  report  ${result.reportFile}`,
    ...(interrupted && result.checkpoint !== null ? [`  resume  preduce train --resume ${result.directory}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Of a run of hand-written workers, which keep the model themselves. */
export function describeJoinedRun(summary: RunSummary, interrupted: boolean): string {
  const lines = [
    `${summary.strategy}: ended after ${formatDuration(1000 * summary.wallSeconds)}` +
      (interrupted ? ' (interrupted, drained)' : ''),
    ...workLines(summary),
    ...rhoLines(summary),
    ...(summary.out === null ? [] : [`  record  ${summary.out}`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Of partial reduce: how much disagreement a group leaves, and what theory says of groups drawn uniformly. */
function rhoLines(summary: RunSummary): readonly string[] {
  const uniform = uniformRho(summary);
  if (summary.rho === null || uniform === null) return [];
  return [`  rho ${summary.rho.toFixed(3)} measured; of uniform groups, (N - P)/(N - 1): ${uniform.toFixed(3)}`];
}

function workLines(summary: RunSummary): readonly string[] {
  const { localSteps, stepsPerWorker, updates, idleShare, bytesSent } = summary;
  return [
    `  ${localSteps} local steps by ${stepsPerWorker.length} workers (${stepsPerWorker.join(', ')}), ${updates} updates`,
    `  waiting ${(100 * idleShare).toFixed(1)} % of the time, ${formatBytes(bytesSent)} exchanged`,
  ];
}
