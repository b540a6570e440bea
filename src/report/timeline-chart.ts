/**
 * What every worker did in a window of a run, one row each, and which of them formed groups. Height tells the
 * activities apart as well as colour does, for grey prints and colour-blind readers.
 */
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from 'echarts';
import type { WorkerId } from '../base/ids.js';
import type { Activity } from '../observe/activities.js';
import type { Timeline } from '../observe/timeline.js';
import { axisScale } from './axis-scale.js';
import type { Html } from './html.js';
import { chooseWorkers } from './shown-workers.js';
import { axisName, CHART_COLOURS, CHART_FONT_SIZE, renderSvgChart } from './svg-chart.js';

export interface TimelineChart {
  /** Unique on the page; prefix of the ids in the picture. */
  readonly id: string;
  readonly title: string;
  readonly timeline: Timeline;
  /** How much of it is shown, from its start; charts of one page share it, so that they can be compared. */
  readonly spanMs: number;
  /** By worker number; decides who is shown when there are too many. */
  readonly stepsPerWorker: readonly number[];
}

const ROWS_MAX = 32;

/** Share of a row's height. */
const HEIGHTS = { compute: 0.62, wait: 0.16, reduce: 0.62 } as const satisfies Record<Activity, number>;

/** Workers that the chart has a row for, by number. */
export function workersOf({ timeline, stepsPerWorker }: Pick<TimelineChart, 'timeline' | 'stepsPerWorker'>) {
  const all = [...new Set(timeline.intervals.map(({ worker }) => worker))];
  const chosen = chooseWorkers(all, ROWS_MAX, (worker) => stepsPerWorker[worker] ?? 0);
  return { all, shown: chosen.toSorted((a, b) => a - b) };
}

/** The picture, with title and description for screen readers. */
export function renderTimelineChart(chart: TimelineChart): Html {
  const { id, title, timeline, spanMs } = chart;
  const { shown } = workersOf(chart);
  const rowHeight = Math.max(14, Math.min(34, Math.round(420 / shown.length)));
  const startSeconds = timeline.startMs / 1000;
  const endSeconds = Math.min(timeline.endMs, timeline.startMs + spanMs) / 1000;
  return renderSvgChart({
    id,
    title,
    description: describe(timeline, shown, startSeconds, endSeconds),
    height: 72 + rowHeight * shown.length,
    option: {
      grid: { left: 84, right: 24, top: 12, bottom: 60, outerBoundsMode: 'none' },
      xAxis: timeAxis(startSeconds, startSeconds + spanMs / 1000),
      yAxis: {
        type: 'category',
        inverse: true,
        data: shown.map((worker) => (rowHeight < 18 ? String(worker) : `worker ${worker}`)),
        axisLabel: { color: CHART_COLOURS.textSoft, fontSize: rowHeight < 18 ? 11 : CHART_FONT_SIZE, interval: 0 },
        axisTick: { show: false },
        axisLine: { show: false },
      },
      series: [barSeries(timeline, shown, endSeconds), linkSeries(timeline, shown, rowHeight, endSeconds)],
    },
  });
}

/** Labels at round times, with ends that are none. */
function timeAxis(startSeconds: number, endSeconds: number): object {
  const { step, decimals } = axisScale([startSeconds, endSeconds], { steps: 8 });
  const labels: number[] = [];
  for (let tick = Math.ceil(startSeconds / step); tick * step <= endSeconds; tick += 1) labels.push(tick * step);
  return {
    type: 'value',
    min: startSeconds,
    max: endSeconds,
    axisLabel: {
      color: CHART_COLOURS.textSoft,
      fontSize: CHART_FONT_SIZE,
      customValues: labels,
      formatter: (value: number) => value.toFixed(decimals),
    },
    axisTick: { customValues: labels, lineStyle: { color: CHART_COLOURS.axis } },
    axisLine: { show: true, onZero: false, lineStyle: { color: CHART_COLOURS.axis } },
    splitLine: { show: false },
    ...axisName('time in seconds since the start of the run'),
  };
}

function barSeries({ intervals }: Timeline, shown: readonly WorkerId[], endSeconds: number): object {
  const bars = intervals.filter(({ worker, startMs }) => shown.includes(worker) && startMs < 1000 * endSeconds);
  return {
    type: 'custom',
    data: bars.map(({ worker, startMs, endMs }) => [
      startMs / 1000,
      Math.min(endSeconds, endMs / 1000),
      shown.indexOf(worker),
    ]),
    encode: { x: [0, 1], y: 2 },
    renderItem(params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) {
      const bar = bars[params.dataIndex];
      if (bar === undefined) return null;
      const row = api.value(2);
      const [left = 0, middle = 0] = api.coord([api.value(0), row]);
      const [right = 0] = api.coord([api.value(1), row]);
      const rowPixels = pixelsOf(api);
      const height = rowPixels * HEIGHTS[bar.activity];
      return {
        type: 'rect',
        shape: { x: left, y: middle - height / 2, width: Math.max(0.5, right - left), height },
        style: { fill: CHART_COLOURS[bar.activity] },
      };
    },
  };
}

/** A line from member to member at the moment of grouping, with a dot on each. */
function linkSeries(timeline: Timeline, shown: readonly WorkerId[], rowHeight: number, endSeconds: number): object {
  const links = timeline.groups.flatMap(({ formedMs, members, aborted }) => {
    const rows = members.map((worker) => shown.indexOf(worker)).filter((row) => row >= 0);
    return rows.length < 2 || formedMs > 1000 * endSeconds ? [] : [{ seconds: formedMs / 1000, rows, aborted }];
  });
  const radius = Math.max(2, Math.min(3.5, rowHeight / 8));
  return {
    type: 'custom',
    data: links.map(({ seconds, rows }) => [seconds, Math.min(...rows), Math.max(...rows)]),
    encode: { x: 0, y: [1, 2] },
    z: 3,
    renderItem(params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) {
      const link = links[params.dataIndex];
      if (link === undefined) return null;
      const [x = 0, top = 0] = api.coord([api.value(0), api.value(1)]);
      const [, bottom = 0] = api.coord([api.value(0), api.value(2)]);
      const style = { stroke: CHART_COLOURS.text, lineWidth: 1.25, lineDash: link.aborted ? [2, 3] : null };
      return {
        type: 'group',
        children: [
          { type: 'line', shape: { x1: x, y1: top, x2: x, y2: bottom }, style },
          ...link.rows.map((row) => ({
            type: 'circle',
            shape: { cx: x, cy: api.coord([api.value(0), row])[1] ?? 0, r: radius },
            style: { fill: CHART_COLOURS.text },
          })),
        ],
      };
    },
  };
}

function pixelsOf(api: CustomSeriesRenderItemAPI): number {
  const size = api.size?.([0, 1]);
  return Array.isArray(size) ? (size[1] ?? 0) : (size ?? 0);
}

function describe({ groups, startMs }: Timeline, shown: readonly WorkerId[], start: number, end: number): string {
  const inside = groups.filter(({ formedMs }) => formedMs >= startMs && formedMs <= 1000 * end).length;
  return `What ${shown.length} workers did from ${start.toFixed(2)} s to ${end.toFixed(2)} s: computing, waiting for others, in collectives; ${inside} groups formed.`;
}
