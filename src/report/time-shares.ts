/**
 * Where each worker's time went, as a table with a bar in each row.
 */
import type { WorkerTime } from '../observe/worker-time.js';
import { formatCount, formatPercent, UNKNOWN } from './format.js';
import { type Html, html } from './html.js';
import type { ReportGroup } from './report-input.js';
import { chooseWorkers } from './shown-workers.js';

const PARTS = [
  { key: 'computeMs', className: 'compute', name: 'computing' },
  { key: 'waitMs', className: 'wait', name: 'waiting for others' },
  { key: 'reduceMs', className: 'reduce', name: 'in collectives' },
] as const;

const ROWS_MAX = 16;

function totalMs(time: WorkerTime): number {
  return time.computeMs + time.waitMs + time.reduceMs;
}

/** One row a worker; of each group the typical run. */
export function renderTimeShares(groups: readonly ReportGroup[]): Html {
  const legend = PARTS.map(({ className, name }) => html`<li><span class="swatch ${className}"></span>${name}</li>`);
  const bodies = groups.map((group) => {
    const rows = chooseWorkers(group.typical.workerTimes, ROWS_MAX, (time) => time.steps).map(renderRow);
    return html`<tbody>${groups.length === 1 ? null : html`<tr class="run"><th scope="rowgroup" colspan="7">${group.label}</th></tr>`}${rows}</tbody>
`;
  });
  return html`<ul class="legend">${legend}</ul>
<div class="scroll"><table class="shares">
<thead><tr><th scope="col">Worker</th><th scope="col" class="left">Share of time</th><th scope="col">Computing</th><th scope="col">Waiting</th><th scope="col">In collectives</th><th scope="col">Steps</th><th scope="col">Time per step</th></tr></thead>
${bodies}</table></div>`;
}

function renderRow(time: WorkerTime): Html {
  const total = totalMs(time);
  const share = (part: number): number => (total > 0 ? part / total : 0);
  const parts = PARTS.map(
    ({ key, className }) =>
      html`<span class="${className}" style="width:${(100 * share(time[key])).toFixed(2)}%"></span>`,
  );
  const perStep = time.steps === 0 ? UNKNOWN : `${(time.computeMs / time.steps).toFixed(1)} ms`;
  return html`<tr><td>${time.worker}</td><td class="wide"><div class="bar" aria-hidden="true">${parts}</div></td><td>${formatPercent(share(time.computeMs))}</td><td>${formatPercent(share(time.waitMs))}</td><td>${formatPercent(share(time.reduceMs))}</td><td>${formatCount(time.steps)}</td><td class="nowrap">${perStep}</td></tr>
`;
}
