/**
 * The charts of a report, test accuracy and loss against time, and their values as a table.
 */
import { axisScale } from './axis-scale.js';
import { type Curve, renderCurveChart } from './curve-chart.js';
import { formatGoal, formatLoss, formatPercent, formatSeconds, UNKNOWN } from './format.js';
import { type Html, html, trustedHtml } from './html.js';
import type { ReportGroup, ReportPoint, ReportTarget } from './report-input.js';
import { type SeriesMark, type SeriesStyle, seriesStyle } from './series-style.js';

/** Share of the points that may fall outside: the first evaluations lie far from where runs differ. */
const CUT_SHARE = 0.1;

/** Beyond this number of groups only the typical run of each is drawn: repeats would hide the curves. */
const GROUPS_WITH_REPEATS_MAX = 6;

function allPoints(groups: readonly ReportGroup[]): readonly ReportPoint[] {
  return groups.flatMap((group) => group.runs.flatMap((run) => run.evaluations));
}

function timeScaleOf(points: readonly ReportPoint[]) {
  return axisScale(
    points.map((point) => point.timeMs / 1000),
    { include: [0], lowest: 0, steps: 10 },
  );
}

function showsRepeats(groups: readonly ReportGroup[]): boolean {
  return groups.length <= GROUPS_WITH_REPEATS_MAX && groups.some((group) => group.runs.length > 1);
}

function curvesOf(
  groups: readonly ReportGroup[],
  valueOf: (point: ReportPoint) => number | null,
  targetValue: number | null,
): readonly Curve[] {
  return groups.flatMap((group, index) =>
    (showsRepeats(groups) ? group.runs : [group.typical]).map((run): Curve => {
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

/** Test accuracy against time, with the target; null where it was never measured. */
export function renderAccuracyChart(groups: readonly ReportGroup[], target: ReportTarget | null): Html | null {
  const points = allPoints(groups).filter(({ accuracy }) => accuracy !== null);
  if (points.length === 0) return null;
  const percentOf = ({ accuracy }: ReportPoint): number | null => (accuracy === null ? null : 100 * accuracy);
  const percents = points.flatMap((point) => percentOf(point) ?? []);
  const targetPercent = target?.measure === 'accuracy' ? Number((100 * target.value).toFixed(2)) : null;
  const valueScale = axisScale(percents, {
    cutLow: CUT_SHARE,
    include: targetPercent === null ? [] : [targetPercent],
    lowest: 0,
    highest: 100,
  });
  const chart = renderCurveChart({
    id: 'accuracy',
    title: 'Test accuracy against time',
    description: describeCurves(groups, target),
    curves: curvesOf(groups, percentOf, targetPercent),
    timeScale: timeScaleOf(points),
    valueScale,
    valueSuffix: '%',
    target: targetPercent === null ? null : { value: targetPercent, label: `target ${targetPercent}%` },
  });
  const isCut = percents.some((percent) => percent < valueScale.min);
  const note = `The scale begins at ${valueScale.min.toFixed(valueScale.decimals)}%: the first evaluations lie below it.`;
  return frameChart(groups, chart, isCut ? note : null);
}

/** Mean loss against time, with the target where it is one of loss. */
export function renderLossChart(groups: readonly ReportGroup[], title: string, target: ReportTarget | null): Html {
  const points = allPoints(groups);
  const losses = points.flatMap((point) => (point.loss === null ? [] : [point.loss]));
  const targetLoss = target?.measure === 'loss' ? target.value : null;
  const valueScale = axisScale(losses, {
    cutHigh: CUT_SHARE,
    include: targetLoss === null ? [] : [targetLoss],
    lowest: 0,
  });
  const chart = renderCurveChart({
    id: 'loss',
    title,
    description: 'Mean loss at the evaluations of each run; the values are in the table below.',
    curves: curvesOf(groups, (point) => point.loss, targetLoss),
    timeScale: timeScaleOf(points),
    valueScale,
    valueSuffix: '',
    target: targetLoss === null ? null : { value: targetLoss, label: `target ${formatLoss(targetLoss)}` },
  });
  const isCut = losses.some((loss) => loss > valueScale.max);
  const note = `The scale ends at ${valueScale.max.toFixed(valueScale.decimals)}: the first evaluations lie above it.`;
  return frameChart(groups, chart, isCut ? note : null);
}

function frameChart(groups: readonly ReportGroup[], chart: Html, note: string | null): Html {
  const caption = note === null ? null : html`<figcaption class="note">${note}</figcaption>`;
  return html`${renderLegend(groups)}<figure><div class="scroll">${chart}</div>${caption}</figure>`;
}

function describeCurves(groups: readonly ReportGroup[], target: ReportTarget | null): string {
  const of = groups.map(({ label, typical }) => {
    const last = typical.evaluations.at(-1);
    if (last === undefined) return `${label}: not evaluated.`;
    const { targetSeconds } = typical.summary;
    const reached =
      target === null
        ? ''
        : targetSeconds === null
          ? `, target ${formatGoal(target)} not reached`
          : `, target ${formatGoal(target)} after ${formatSeconds(targetSeconds)}`;
    return `${label}: ${formatPercent(last.accuracy, 2)} after ${formatSeconds(last.timeMs / 1000)}${reached}.`;
  });
  return of.join(' ');
}

/**
 * Samples of the lines, in HTML: text in the picture could overlap it. In the order in which the target was reached, which
 * is that of the curves from left to right.
 */
function renderLegend(groups: readonly ReportGroup[]): Html {
  const never = Number.MAX_VALUE;
  const sorted = groups
    .map((group, index) => ({ group, index }))
    .toSorted((a, b) => (a.group.summary.targetSeconds ?? never) - (b.group.summary.targetSeconds ?? never));
  const entries = sorted.map(({ group: { label, summary }, index }) => {
    const time =
      summary.targetSeconds === null ? null : html` <span class="note">${formatSeconds(summary.targetSeconds)}</span>`;
    return html`<li>${lineSample(seriesStyle(index))}${label}${groups.length > 1 ? time : null}</li>`;
  });
  const repeats = showsRepeats(groups)
    ? html`<li class="note">thin: the other repeats</li>`
    : groups.some((group) => group.runs.length > 1)
      ? html`<li class="note">of each the repeat nearest to the median</li>`
      : null;
  return html`<ul class="legend">${entries}${repeats}</ul>`;
}

const MARK_PATHS: Readonly<Record<SeriesMark, string>> = {
  triangle: 'M21 2L25 10H17Z',
  rect: 'M17 2H25V10H17Z',
  diamond: 'M21 1L26 6L21 11L16 6Z',
};

function lineSample({ colour, dash, mark }: SeriesStyle): Html {
  const dashes = dash === 'solid' ? '' : `stroke-dasharray="${dash.join(' ')}"`;
  const drawn = mark === null ? '' : `<path d="${MARK_PATHS[mark]}" fill="var(--series-${colour})"/>`;
  return trustedHtml(
    `<svg viewBox="0 0 42 12" aria-hidden="true"><path d="M0 6H42" fill="none" stroke="var(--series-${colour})" stroke-width="3" ${dashes}/>${drawn}</svg>`,
  );
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
