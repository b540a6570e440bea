/**
 * A comparison on the terminal: the table, what tuning found, and the result in one sentence. No line is longer than the
 * terminal is wide: columns that tell least are left out.
 */
import { formatBytes } from '../base/units.js';
import type { ComparisonEntry, ComparisonResult } from '../launch/comparison-output.js';
import { isAtEdge } from '../launch/tuning.js';
import { type MedianSummary, spreadOf } from '../observe/median.js';
import type { RunSummary } from '../observe/summary.js';
import type { Trial, TunedStrategy } from '../observe/tuning-record.js';
import { formatFittedTable, type TableColumn } from './table.js';

const UNKNOWN = '-';
const NEVER = 'never';

type Facts = Pick<ComparisonResult, 'targetAccuracy' | 'targetLoss' | 'stopAtTarget'>;

/** All of it. `width` of the terminal in characters; a file takes every column. */
export function describeComparison(result: ComparisonResult, width = Number.POSITIVE_INFINITY): string {
  const parts = [
    ...(result.tuned === null ? [] : [describeTuning(result.tuned, result, width)]),
    `${formatFittedTable(columnsOf(result), width)}\n${noteOf(result)}`,
    ...sentenceOf(result),
    `report  ${result.reportFile}`,
  ];
  return `\n${parts.join('\n\n')}\n`;
}

function percent(share: number | null, digits: number): string {
  return share === null ? UNKNOWN : `${(100 * share).toFixed(digits)} %`;
}

/** `96.0 %`, `loss 0.1`; null: no target. */
function targetOf({ targetAccuracy, targetLoss }: Facts): string | null {
  if (targetLoss !== null) return `loss ${targetLoss}`;
  return targetAccuracy === null ? null : percent(targetAccuracy, 1);
}

function baselineOf({ entries }: Pick<ComparisonResult, 'entries'>): number | null {
  return entries.find(({ label }) => label === 'all-reduce')?.summary.targetSeconds ?? null;
}

/** `6.1-7.0`, of repeats. */
function spreadText(
  { runs }: MedianSummary,
  pick: (run: RunSummary) => number | null,
  format: (value: number) => string,
): string {
  const spread = spreadOf(runs.map(pick));
  if (spread === null) return UNKNOWN;
  return `${format(spread.least)}-${spread.most === null ? NEVER : format(spread.most)}`;
}

function columnsOf(result: ComparisonResult): readonly TableColumn[] {
  const { entries, stopAtTarget } = result;
  const target = targetOf(result);
  const baseline = baselineOf(result);
  const isRepeated = entries.some(({ summary }) => summary.runs.length > 1);
  const isMeasured = entries.some(({ summary }) => summary.testAccuracy !== null);
  const isTuned = entries.some(({ tuned }) => tuned !== null);
  const of = (
    rank: number | null,
    header: string,
    cell: (summary: MedianSummary, entry: ComparisonEntry) => string,
  ): TableColumn => ({ rank, header, cells: entries.map((entry) => cell(entry.summary, entry)) });
  const when = (isUsed: boolean, column: () => TableColumn): readonly TableColumn[] => (isUsed ? [column()] : []);
  return [
    of(null, 'strategy', (_, { label }) => label),
    ...when(isTuned, () => of(7, 'lr', (_, { tuned }) => String(tuned?.learningRate ?? UNKNOWN))),
    ...when(target !== null, () =>
      of(1, `to ${target}`, ({ targetSeconds: at }) => (at === null ? NEVER : `${at.toFixed(1)} s`)),
    ),
    ...when(target !== null && isRepeated, () =>
      of(8, 'from-to', (summary) =>
        spreadText(
          summary,
          (run) => run.targetSeconds,
          (at) => at.toFixed(1),
        ),
      ),
    ),
    ...when(target !== null, () =>
      of(2, 'speed-up', ({ targetSeconds: at }) =>
        at === null || baseline === null ? UNKNOWN : `${(baseline / at).toFixed(2)}x`,
      ),
    ),
    of(4, 'updates', ({ updates, updatesToTarget }) => countText(target === null ? updates : updatesToTarget)),
    of(5, 'ms/update', millisecondsPerUpdate),
    ...when(!isMeasured, () => of(3, 'loss', ({ testLoss }) => testLoss?.toPrecision(3) ?? UNKNOWN)),
    ...when(isMeasured, () =>
      stopAtTarget
        ? of(6.5, 'at target', ({ testAccuracy }) => percent(testAccuracy, 2))
        : of(3, 'accuracy', ({ testAccuracy }) => percent(testAccuracy, 2)),
    ),
    ...when(isMeasured && isRepeated, () =>
      of(10, 'from-to', (summary) =>
        spreadText(
          summary,
          (run) => run.testAccuracy,
          (share) => (100 * share).toFixed(2),
        ),
      ),
    ),
    of(9, 'sent', ({ bytesSent }) => formatBytes(bytesSent)),
    of(6, 'idle', ({ idleShare }) => percent(idleShare, 0)),
    of(11, 'total', ({ wallSeconds }) => `${wallSeconds.toFixed(1)} s`),
  ];
}

function countText(count: number | null): string {
  return count === null ? UNKNOWN : String(Math.round(count));
}

function millisecondsPerUpdate({ wallSeconds, updates }: MedianSummary): string {
  return updates === 0 ? UNKNOWN : ((1000 * wallSeconds) / updates).toFixed(1);
}

/** What the columns are of, where that could be taken otherwise. */
function noteOf(result: ComparisonResult): string {
  const repeats = Math.max(...result.entries.map(({ summary }) => summary.runs.length));
  const parts = [
    ...(repeats > 1 ? [`medians of ${repeats} runs`] : []),
    ...(targetOf(result) === null ? [] : ['updates up to the target']),
    ...(result.stopAtTarget ? ['runs ended there'] : []),
  ];
  return parts.length === 0 ? '' : `(${parts.join(', ')})`;
}

function sentenceOf(result: ComparisonResult): readonly string[] {
  const { entries, referenceMs, idealSpeedUp } = result;
  const baseline = baselineOf(result);
  const [best] = entries
    .filter(({ label, summary }) => label !== 'all-reduce' && summary.targetSeconds !== null)
    .toSorted((a, b) => (a.summary.targetSeconds ?? 0) - (b.summary.targetSeconds ?? 0));
  const bestSeconds = best?.summary.targetSeconds ?? null;
  if (best === undefined || bestSeconds === null || baseline === null) return [];
  const ideal =
    referenceMs === null || idealSpeedUp === null ? '' : `\n(if nobody ever waited: ${idealSpeedUp.toFixed(2)}x)`;
  return [
    `${best.label} reached ${targetOf(result)} ${(baseline / bestSeconds).toFixed(2)}x as fast as all-reduce${ideal}`,
  ];
}

/** What a trial came to: its time to the target, else its accuracy or loss. */
export function describeTrial({ targetSeconds, testAccuracy, testLoss }: Trial): string {
  if (targetSeconds !== null) return `${targetSeconds.toFixed(1)} s`;
  if (testAccuracy !== null) return percent(testAccuracy, 2);
  return testLoss === null ? 'failed' : `loss ${testLoss.toPrecision(3)}`;
}

/** One line on a strategy whose rate is chosen. */
export function describeTuned({ label, learningRate, trials }: TunedStrategy): string {
  const chosen = trials.find((trial) => trial.learningRate === learningRate);
  if (chosen === undefined) return `${label}: no learning rate gave a model, it is left out`;
  const { targetSeconds } = chosen;
  const what =
    targetSeconds === null ? `target not reached, ${describeTrial(chosen)}` : `target after ${describeTrial(chosen)}`;
  return `${label}: learning rate ${learningRate} (${what})`;
}

function describeTuning(tuned: readonly TunedStrategy[], facts: Facts, width: number): string {
  const rates = [...new Set(tuned.flatMap(({ trials }) => trials.map(({ learningRate }) => learningRate)))].toSorted(
    (a, b) => a - b,
  );
  const grid = rates.map(
    (rate): TableColumn => ({
      // All or none: with some of them left out the chosen one would seem to be missing.
      rank: 2,
      header: `lr ${rate}`,
      cells: tuned.map(({ learningRate, trials }) => {
        const trial = trials.find((each) => each.learningRate === rate);
        return `${trial === undefined ? UNKNOWN : describeTrial(trial)}${rate === learningRate ? ' *' : '  '}`;
      }),
    }),
  );
  const table = formatFittedTable(
    [
      { rank: null, header: 'tuning', cells: tuned.map(({ label }) => label) },
      { rank: 1, header: 'chosen', cells: tuned.map(({ learningRate }) => String(learningRate ?? 'none')) },
      ...grid,
    ],
    width,
  );
  const target = targetOf(facts);
  const atEdge = tuned.filter(isAtEdge).length;
  return [
    table,
    target === null ? '(loss at the end)' : `(time to ${target}, or what was reached)`,
    ...(atEdge === 0 ? [] : [`(chosen at an end of the grid by ${atEdge}: a rate beyond may be better)`]),
  ].join('\n');
}
