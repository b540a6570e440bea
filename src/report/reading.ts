/**
 * The result in words: one paragraph for a reader who looks at nothing else.
 */
import { formatGoal, formatLoss, formatPercent, formatSeconds } from './format.js';
import { baselineOf, type ReportGroup, type ReportTarget, speedUp } from './report-input.js';

export interface ReadingInput {
  readonly groups: readonly ReportGroup[];
  readonly target: ReportTarget | null;
  /** Whether runs ended at the target. */
  readonly stopAtTarget: boolean;
  readonly idealSpeedUp: number | null;
}

/** Tells who was fastest, by how much, why, and whether it cost accuracy. */
export function readResult({ groups, target, stopAtTarget, idealSpeedUp }: ReadingInput): string {
  const sentences: string[] = [];
  const repeats = Math.max(...groups.map((group) => group.runs.length));
  if (target !== null) sentences.push(...readTarget(groups, target));
  sentences.push(...readWaiting(groups));
  if (baselineOf(groups) !== null && groups.length > 1 && idealSpeedUp !== null && idealSpeedUp > 1) {
    sentences.push(
      `If nobody ever waited and communication were free, the gain would be ${idealSpeedUp.toFixed(2)} times.`,
    );
  }
  if (target !== null && stopAtTarget) {
    sentences.push(groups.length === 1 ? 'The run ended at the target.' : 'Runs ended at the target.');
  } else {
    sentences.push(...readModels(groups));
  }
  if (repeats > 1) sentences.push(`All numbers are medians of ${repeats} runs.`);
  return sentences.join(' ');
}

/** The group that reached the target first; null where none did. */
function fastest(groups: readonly ReportGroup[]): ReportGroup | null {
  const reached = groups.filter((group) => group.summary.targetSeconds !== null);
  if (reached.length === 0) return null;
  return reached.reduce((best, group) =>
    (group.summary.targetSeconds as number) < (best.summary.targetSeconds as number) ? group : best,
  );
}

function readTarget(groups: readonly ReportGroup[], target: ReportTarget): string[] {
  const goal = target.measure === 'accuracy' ? `${formatGoal(target)} test accuracy` : formatGoal(target);
  const first = fastest(groups);
  if (first === null) return [readMissed(groups, goal)];
  const seconds = formatSeconds(first.summary.targetSeconds);
  const missed = groups.filter((group) => group.summary.targetSeconds === null).map((group) => group.label);
  const missedSentences = missed.length === 0 ? [] : [`${listOf(missed)} did not reach it.`];
  if (groups.length === 1) return [`The run reached ${goal} after ${seconds}.`];

  const baseline = baselineOf(groups);
  if (baseline === null)
    return [`${first.label} was the first to reach ${goal}, after ${seconds}.`, ...missedSentences];
  const base = formatSeconds(baseline.summary.targetSeconds);
  if (first === baseline) {
    return [
      `${baseline.label} was the first to reach ${goal}, after ${seconds}: nothing was gained over it.`,
      ...missedSentences,
    ];
  }
  const factor = speedUp(first, baseline);
  const against = factor === null ? '' : `, ${factor.toFixed(2)} times as fast as ${baseline.label} (${base})`;
  return [`${first.label} reached ${goal} after ${seconds}${against}.`, ...missedSentences];
}

/** Where the median of no group reached the target: single repeats still may have. */
function readMissed(groups: readonly ReportGroup[], goal: string): string {
  const runs = groups.flatMap((group) => group.runs);
  const reached = runs.filter((run) => run.summary.targetSeconds !== null).length;
  if (reached > 0) return `Only ${reached} of ${runs.length} runs reached ${goal}, too few for a median time.`;
  return `${runs.length === 1 ? 'The run did not reach' : 'No run reached'} ${goal}.`;
}

function readWaiting(groups: readonly ReportGroup[]): string[] {
  const baseline = baselineOf(groups);
  const others = groups.filter((group) => group !== baseline);
  const chosen = fastest(others) ?? others[0];
  const idle = (group: ReportGroup): string => formatPercent(group.summary.idleShare, 0);
  if (chosen === undefined || baseline === null) {
    const only = chosen ?? baseline;
    return only == null || groups.length > 1
      ? []
      : [`Its workers spent ${idle(only)} of their time waiting for others.`];
  }
  return [
    `The workers of ${chosen.label} spent ${idle(chosen)} of their time waiting for others, those of ${baseline.label} ${idle(baseline)}.`,
  ];
}

function readModels(groups: readonly ReportGroup[]): string[] {
  const known = groups.flatMap(({ summary }) => (summary.testAccuracy === null ? [] : [summary.testAccuracy]));
  if (known.length === 0) return readLosses(groups);
  const low = formatPercent(Math.min(...known), 2);
  const high = formatPercent(Math.max(...known), 2);
  if (groups.length === 1) return [`The final model has a test accuracy of ${high}.`];
  if (low === high) return [`All final models have a test accuracy of ${high}.`];
  return [`The final models have a test accuracy of ${low} to ${high}.`];
}

/** Of problems that have no accuracy. */
function readLosses(groups: readonly ReportGroup[]): string[] {
  const known = groups.flatMap(({ summary }) => (summary.testLoss === null ? [] : [summary.testLoss]));
  if (known.length === 0) return ['No model was evaluated.'];
  const low = formatLoss(Math.min(...known));
  const high = formatLoss(Math.max(...known));
  return [low === high ? `The loss at the end is ${high}.` : `The loss at the end is ${low} to ${high}.`];
}

function listOf(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
