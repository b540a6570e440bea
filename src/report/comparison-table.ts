/**
 * The table of results: one row for each group of repeats.
 */
import {
  formatCount,
  formatFactor,
  formatPercent,
  formatSeconds,
  formatSteps,
  formatTarget,
  UNKNOWN,
} from './format.js';
import { type Html, html } from './html.js';
import { baselineOf, type ReportGroup, speedUp } from './report-input.js';

const SPEED_UP = 'Speed-up';

interface Column {
  readonly heading: string;
  /** Left out of a report in which no group has it. */
  readonly isUsed: boolean;
  readonly className: string;
  readonly cell: (group: ReportGroup) => string;
}

function columnsOf(groups: readonly ReportGroup[], targetAccuracy: number | null): readonly Column[] {
  const baseline = baselineOf(groups);
  const column = (heading: string, cell: Column['cell'], options: Partial<Column> = {}): Column => ({
    heading,
    cell,
    isUsed: true,
    className: 'nowrap',
    ...options,
  });
  return [
    column(
      `Time to ${targetAccuracy === null ? 'target' : formatTarget(targetAccuracy)}`,
      ({ summary }) => formatSeconds(summary.targetSeconds),
      {
        isUsed: targetAccuracy !== null,
        className: 'nowrap goal',
      },
    ),
    column(SPEED_UP, (group) => formatFactor(speedUp(group, baseline)), {
      isUsed: targetAccuracy !== null && baseline !== null && groups.length > 1,
    }),
    column('Wall time', ({ summary }) => formatSeconds(summary.wallSeconds)),
    column('Updates', ({ summary }) => formatCount(summary.updates)),
    column('Time per update', timePerUpdate),
    column('Test accuracy', ({ summary }) => formatPercent(summary.testAccuracy, 2)),
    column('Waiting', ({ summary }) => formatPercent(summary.idleShare)),
    column('Steps per worker', ({ summary }) => formatSteps(summary.stepsPerWorker)),
  ];
}

function timePerUpdate({ summary }: ReportGroup): string {
  if (summary.updates === 0) return UNKNOWN;
  const milliseconds = (1000 * summary.wallSeconds) / summary.updates;
  return `${milliseconds.toFixed(milliseconds < 10 ? 2 : milliseconds < 100 ? 1 : 0)} ms`;
}

/** The table; the group that reached the target first is marked. */
export function renderComparisonTable(groups: readonly ReportGroup[], targetAccuracy: number | null): Html {
  const columns = columnsOf(groups, targetAccuracy).filter((column) => column.isUsed);
  const times = groups.flatMap(({ summary }) => (summary.targetSeconds === null ? [] : [summary.targetSeconds]));
  const best = groups.length > 1 && times.length > 0 ? Math.min(...times) : null;
  const rows = groups.map((group) => {
    const cells = columns.map(({ className, cell }) => html`<td class="${className}">${cell(group)}</td>`);
    const isBest = best !== null && group.summary.targetSeconds === best;
    return html`<tr class="${isBest ? 'best' : ''}"><th scope="row" class="nowrap">${group.label}</th>${cells}</tr>`;
  });
  const headings = columns.map(({ heading }) => html`<th scope="col">${heading}</th>`);
  const caption = columns.some(({ heading }) => heading === SPEED_UP)
    ? html`<caption>Speed-up: times sooner at the target than all-reduce. Waiting: mean share of the workers' time.</caption>
`
    : null;
  return html`<div class="scroll"><table>
${caption}
<thead><tr><th scope="col">Run</th>${headings}</tr></thead>
<tbody>${rows}</tbody>
</table></div>`;
}
