/**
 * The table of results: one row for each group of repeats.
 */
import { formatBytes } from '../base/units.js';
import { type MedianSummary, spreadOf } from '../observe/median.js';
import type { RunSummary } from '../observe/summary.js';
import {
  formatCount,
  formatFactor,
  formatGoal,
  formatLoss,
  formatPercent,
  formatSeconds,
  formatSpread,
  formatSteps,
  UNKNOWN,
} from './format.js';
import { type Html, html } from './html.js';
import { baselineOf, type ReportGroup, type ReportInput, type ReportTarget, speedUp } from './report-input.js';

const SPEED_UP = 'Speed-up';

interface Column {
  readonly heading: string;
  /** Left out of a report in which no group has it. */
  readonly isUsed: boolean;
  readonly className: string;
  readonly cell: (group: ReportGroup) => string;
  /** Of the repeats, below the median; default: none. */
  readonly spread?: (group: ReportGroup) => string | null;
}

export interface ComparisonTable extends Pick<ReportInput, 'stopAtTarget' | 'tuned'> {
  readonly groups: readonly ReportGroup[];
  readonly target: ReportTarget | null;
}

function columnsOf({ groups, target, stopAtTarget = false, tuned = null }: ComparisonTable): readonly Column[] {
  const baseline = baselineOf(groups);
  const hasTarget = target !== null;
  // What fits the page beside the columns of repeats and rates; all of it is in the settings and shares below.
  const isFull = hasTarget && groups.some(({ runs }) => runs.length > 1);
  const hasAccuracy = groups.some(({ summary }) => summary.testAccuracy !== null);
  const column = (heading: string, cell: Column['cell'], options: Partial<Column> = {}): Column => ({
    heading,
    cell,
    isUsed: true,
    className: 'nowrap',
    ...options,
  });
  return [
    column(
      `Time to ${target === null ? 'target' : formatGoal(target)}`,
      ({ summary }) => formatSeconds(summary.targetSeconds),
      {
        isUsed: hasTarget,
        className: 'nowrap goal',
        spread: spreadOfRuns(
          (run) => run.targetSeconds,
          (seconds) => formatSeconds(seconds).replace(' s', ''),
        ),
      },
    ),
    column(SPEED_UP, (group) => formatFactor(speedUp(group, baseline)), {
      isUsed: hasTarget && baseline !== null && groups.length > 1,
    }),
    column('Updates to target', ({ summary }) => formatKnown(summary.updatesToTarget), { isUsed: hasTarget }),
    column('Time per update', timePerUpdate),
    column(
      stopAtTarget ? 'Test accuracy at the target' : 'Test accuracy',
      ({ summary }) => formatPercent(summary.testAccuracy, 2),
      {
        isUsed: hasAccuracy,
        spread: spreadOfRuns(
          (run) => run.testAccuracy,
          (share) => (100 * share).toFixed(2),
        ),
      },
    ),
    column('Loss', ({ summary }) => formatLoss(summary.testLoss), {
      isUsed: !hasAccuracy,
      spread: spreadOfRuns((run) => run.testLoss, formatLoss),
    }),
    column('Waiting', ({ summary }) => formatPercent(summary.idleShare)),
    column('Sent', ({ summary }) => formatBytes(Math.round(summary.bytesSent))),
    column('Updates', ({ summary }) => formatCount(summary.updates), { isUsed: !isFull }),
    column('Wall time', ({ summary }) => formatSeconds(summary.wallSeconds)),
    column('Learning rate', ({ label }) => String(rateOf(label, tuned) ?? UNKNOWN), { isUsed: tuned !== null }),
    column('Steps per worker', ({ summary }) => formatSteps(summary.stepsPerWorker), { isUsed: !isFull }),
  ];
}

function rateOf(label: string, tuned: ReportInput['tuned']): number | null {
  return tuned?.find((each) => each.label === label)?.learningRate ?? null;
}

function formatKnown(count: number | null): string {
  return count === null ? UNKNOWN : formatCount(count);
}

function spreadOfRuns(
  pick: (run: RunSummary) => number | null,
  format: (value: number) => string,
): (group: ReportGroup) => string | null {
  return ({ runs }) => formatSpread(spreadOf(runs.map(({ summary }) => pick(summary))), format);
}

function timePerUpdate({ summary }: { readonly summary: MedianSummary }): string {
  if (summary.updates === 0) return UNKNOWN;
  const milliseconds = (1000 * summary.wallSeconds) / summary.updates;
  return `${milliseconds.toFixed(milliseconds < 10 ? 2 : milliseconds < 100 ? 1 : 0)} ms`;
}

/** The table; the group that reached the target first is marked. */
export function renderComparisonTable(table: ComparisonTable): Html {
  const { groups } = table;
  const columns = columnsOf(table).filter((column) => column.isUsed);
  const times = groups.flatMap(({ summary }) => (summary.targetSeconds === null ? [] : [summary.targetSeconds]));
  const best = groups.length > 1 && times.length > 0 ? Math.min(...times) : null;
  const rows = groups.map((group) => {
    const cells = columns.map(({ className, cell, spread }) => {
      const ends = spread?.(group) ?? null;
      const below = ends === null ? null : html`<span class="spread">${ends}</span>`;
      return html`<td class="${className}">${cell(group)}${below}</td>`;
    });
    const isBest = best !== null && group.summary.targetSeconds === best;
    return html`<tr class="${isBest ? 'best' : ''}"><th scope="row" class="nowrap">${group.label}</th>${cells}</tr>`;
  });
  const headings = columns.map(({ heading }) => html`<th scope="col">${heading}</th>`);
  const notes = [
    ...(columns.some(({ heading }) => heading === SPEED_UP)
      ? ['Speed-up: times sooner at the target than all-reduce.', "Waiting: mean share of the workers' time."]
      : []),
    ...(groups.some(({ runs }) => runs.length > 1)
      ? ['Of repeats the median; below it, smaller, the least and the greatest.']
      : []),
  ];
  const caption =
    notes.length === 0
      ? null
      : html`<caption>${notes.join(' ')}</caption>
`;
  return html`<div class="scroll"><table>
${caption}
<thead><tr><th scope="col">Run</th>${headings}</tr></thead>
<tbody>${rows}</tbody>
</table></div>`;
}
