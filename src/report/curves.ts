/**
 * The two charts of a report, test accuracy and test loss against time, and their values as a table.
 */
import type { EvaluationPoint } from '../observe/summary.js';
import { axisScale } from './axis-scale.js';
import { type Curve, renderCurveChart } from './curve-chart.js';
import { formatPercent, formatSeconds, formatTarget, UNKNOWN } from './format.js';
import { type Html, html, trustedHtml } from './html.js';
import type { ReportGroup } from './report-input.js';
import { seriesStyle } from './series-style.js';

/** Share of the points that may fall outside: the first evaluations lie far from where runs differ. */
const CUT_SHARE = 0.1;

function allPoints(groups: readonly ReportGroup[]): readonly EvaluationPoint[] {
  return groups.flatMap((group) => group.runs.flatMap((run) => run.evaluations));
}

function timeScaleOf(points: readonly EvaluationPoint[]) {
  return axisScale(
    points.map((point) => point.timeMs / 1000),
    { include: [0], lowest: 0, steps: 10 },
  );
}

function curvesOf(
  groups: readonly ReportGroup[],
  valueOf: (point: EvaluationPoint) => number | null,
  targetValue: number | null,
): readonly Curve[] {
  return groups.flatMap((group, index) =>
    group.runs.map((run): Curve => {
      const isTypical = run === group.typical;
      const { targetSeconds } = run.summary;
      return {
        style: seriesStyle(index),
        points: run.evaluations.map((point) => [point.timeMs / 1000, valueOf(point)]),
        faint: !isTypical,
        dot: isTypical && targetValue !== null && targetSeconds !== null ? [targetSeconds, targetValue] : null,
      };
    }),
  );
}

/** Test accuracy against time, with the target. */
export function renderAccuracyChart(groups: readonly ReportGroup[], targetAccuracy: number | null): Html {
  const points = allPoints(groups);
  const percents = points.map((point) => 100 * point.accuracy);
  const targetPercent = targetAccuracy === null ? null : Number((100 * targetAccuracy).toFixed(2));
  const valueScale = axisScale(percents, {
    cutLow: CUT_SHARE,
    include: targetPercent === null ? [] : [targetPercent],
    lowest: 0,
    highest: 100,
  });
  const chart = renderCurveChart({
    id: 'accuracy',
    title: 'Test accuracy against time',
    description: describeCurves(groups, targetAccuracy),
    curves: curvesOf(groups, (point) => 100 * point.accuracy, targetPercent),
    timeScale: timeScaleOf(points),
    valueScale,
    valueSuffix: '%',
    target: targetPercent === null ? null : { value: targetPercent, label: `target ${targetPercent}%` },
  });
  const isCut = percents.some((percent) => percent < valueScale.min);
  const note = `The scale begins at ${valueScale.min.toFixed(valueScale.decimals)}%: the first evaluations lie below it.`;
  return frameChart(groups, chart, isCut ? note : null);
}

/** Mean test loss against time. */
export function renderLossChart(groups: readonly ReportGroup[]): Html {
  const points = allPoints(groups);
  const losses = points.flatMap((point) => (point.loss === null ? [] : [point.loss]));
  const valueScale = axisScale(losses, { cutHigh: CUT_SHARE, lowest: 0 });
  const chart = renderCurveChart({
    id: 'loss',
    title: 'Test loss against time',
    description: 'Mean loss over the test set at the evaluations of each run; the values are in the table below.',
    curves: curvesOf(groups, (point) => point.loss, null),
    timeScale: timeScaleOf(points),
    valueScale,
    valueSuffix: '',
    target: null,
  });
  const isCut = losses.some((loss) => loss > valueScale.max);
  const note = `The scale ends at ${valueScale.max.toFixed(valueScale.decimals)}: the first evaluations lie above it.`;
  return frameChart(groups, chart, isCut ? note : null);
}

function frameChart(groups: readonly ReportGroup[], chart: Html, note: string | null): Html {
  const caption = note === null ? null : html`<figcaption class="note">${note}</figcaption>`;
  return html`${renderLegend(groups)}<figure><div class="scroll">${chart}</div>${caption}</figure>`;
}

function describeCurves(groups: readonly ReportGroup[], targetAccuracy: number | null): string {
  const of = groups.map(({ label, typical }) => {
    const last = typical.evaluations.at(-1);
    if (last === undefined) return `${label}: not evaluated.`;
    const { targetSeconds } = typical.summary;
    const target =
      targetAccuracy === null
        ? ''
        : targetSeconds === null
          ? `, target ${formatTarget(targetAccuracy)} not reached`
          : `, target ${formatTarget(targetAccuracy)} after ${formatSeconds(targetSeconds)}`;
    return `${label}: ${formatPercent(last.accuracy, 2)} after ${formatSeconds(last.timeMs / 1000)}${target}.`;
  });
  return of.join(' ');
}

/** Samples of the lines, in HTML: text in the picture could overlap it. */
function renderLegend(groups: readonly ReportGroup[]): Html {
  const entries = groups.map((group, index) => {
    const { colour, dash } = seriesStyle(index);
    const dashes = dash === 'solid' ? '' : `stroke-dasharray="${dash.join(' ')}"`;
    const line = trustedHtml(
      `<svg viewBox="0 0 42 12" aria-hidden="true"><path d="M0 6H42" fill="none" stroke="var(--series-${colour})" stroke-width="3" ${dashes}/></svg>`,
    );
    return html`<li>${line}${group.label}</li>`;
  });
  const repeats = groups.some((group) => group.runs.length > 1)
    ? html`<li class="note">thin: the other repeats</li>`
    : null;
  return html`<ul class="legend">${entries}${repeats}</ul>`;
}

/** The points of the charts, folded away; of each group the typical run. */
export function renderValues(groups: readonly ReportGroup[]): Html {
  const bodies = groups.map(({ label, typical }) => {
    const rows = typical.evaluations.map(
      ({ timeMs, samples, accuracy, loss }) =>
        html`<tr><td>${label}</td><td>${(timeMs / 1000).toFixed(2)}</td><td>${samples}</td><td>${formatPercent(accuracy, 2)}</td><td>${loss === null ? UNKNOWN : loss.toFixed(4)}</td></tr>
`,
    );
    return html`<tbody>${rows}</tbody>
`;
  });
  return html`<details><summary>Values of the charts</summary>
<div class="scroll"><table>
<thead><tr><th scope="col">Run</th><th scope="col">Time (s)</th><th scope="col">Samples</th><th scope="col">Test accuracy</th><th scope="col">Test loss</th></tr></thead>
${bodies}</table></div></details>`;
}
