/**
 * How stale the averaged replicas were: one small histogram for each way to train, all on one scale, so that they can be
 * compared without telling colours apart.
 */
import type { Staleness } from '../observe/staleness.js';
import { axisScale } from './axis-scale.js';
import type { Html } from './html.js';
import { seriesStyle } from './series-style.js';
import { axisName, CHART_COLOURS, CHART_FONT_SIZE, renderSvgChart, seriesColour, valueAxis } from './svg-chart.js';

export interface StalenessRow {
  readonly label: string;
  readonly staleness: Staleness;
  /** Number of the group on the page, for its colour. */
  readonly index: number;
}

const BINS_MAX = 20;
const BAR_LABELS_MAX = 14;
const PANEL_HEIGHT = 96;
const PANEL_GAP = 76;
const TOP = 44;
const BOTTOM = 56;

export interface StalenessBins {
  /** `0`, `1` … or `0–4`, `5–9` …; `20+` where the last holds all beyond. */
  readonly names: readonly string[];
  /** Of each row, shares from 0 to 1. */
  readonly shares: readonly (readonly number[])[];
}

/** Common bins for all rows. */
export function binStaleness(rows: readonly Staleness[]): StalenessBins {
  const length = Math.max(1, ...rows.map(({ counts }) => counts.length));
  const width = Math.ceil(length / BINS_MAX);
  const bins = Math.ceil(length / width);
  const isCapped = rows.some(({ counts, max }) => max >= counts.length && counts.length > 0);
  const names = Array.from({ length: bins }, (_, bin) => {
    const from = bin * width;
    if (isCapped && bin === bins - 1) return `${from}+`;
    return width === 1 ? String(from) : `${from}–${from + width - 1}`;
  });
  const shares = rows.map(({ counts }) => {
    const all = counts.reduce((sum, count) => sum + count, 0);
    return names.map((_, bin) => {
      const own = counts.slice(bin * width, (bin + 1) * width).reduce((sum, count) => sum + count, 0);
      return all === 0 ? 0 : own / all;
    });
  });
  return { names, shares };
}

/** `mean 0.4, at most 3`. */
export function describeStaleness({ mean, max }: Staleness): string {
  return `mean ${mean.toFixed(2)}, at most ${max}`;
}

/** The picture, with title and description for screen readers. */
export function renderStalenessChart(id: string, title: string, rows: readonly StalenessRow[]): Html {
  const { names, shares } = binStaleness(rows.map(({ staleness }) => staleness));
  const percents = shares.map((row) => row.map((share) => 100 * share));
  const scale = axisScale([0, ...percents.flat()], { lowest: 0, highest: 100, steps: 2 });
  const top = (row: number): number => TOP + row * (PANEL_HEIGHT + PANEL_GAP);
  const last = rows.length - 1;
  return renderSvgChart({
    id,
    title,
    description: rows.map(({ label, staleness }) => `${label}: ${describeStaleness(staleness)}.`).join(' '),
    height: top(last) + PANEL_HEIGHT + BOTTOM,
    option: {
      title: rows.map(({ label, staleness }, row) => ({
        text: `${label} (${describeStaleness(staleness)})`,
        left: 58,
        top: top(row) - 42,
        padding: 5,
        textStyle: {
          color: CHART_COLOURS.text,
          fontSize: CHART_FONT_SIZE,
          fontWeight: 'normal',
          width: 810,
          overflow: 'truncate',
        },
      })),
      grid: rows.map((_, row) => ({
        left: 64,
        right: 24,
        top: top(row),
        height: PANEL_HEIGHT,
        outerBoundsMode: 'none',
      })),
      xAxis: rows.map((_, row) => ({
        type: 'category',
        gridIndex: row,
        data: names,
        axisLabel: { color: CHART_COLOURS.textSoft, fontSize: CHART_FONT_SIZE, interval: 0 },
        axisTick: { show: false },
        axisLine: { lineStyle: { color: CHART_COLOURS.axis } },
        ...(row === last ? axisName('iterations behind the freshest member of the group') : {}),
      })),
      yAxis: rows.map((_, row) => ({ ...valueAxis(scale, null, '%'), gridIndex: row })),
      series: rows.map(({ index }, row) => ({
        type: 'bar',
        xAxisIndex: row,
        yAxisIndex: row,
        data: percents[row],
        barCategoryGap: '25%',
        itemStyle: { color: seriesColour(seriesStyle(index).colour) },
        label: {
          show: names.length <= BAR_LABELS_MAX,
          position: 'top',
          distance: 2,
          color: CHART_COLOURS.text,
          fontSize: 12,
          textBorderWidth: 0,
          formatter: ({ value }: { readonly value: unknown }) => formatShare(Number(value)),
        },
      })),
    },
  });
}

/** Nothing for nothing; what is rare is not none. */
function formatShare(percent: number): string {
  if (percent === 0) return '';
  return percent < 0.1 ? '<0.1%' : `${percent.toFixed(percent < 10 ? 1 : 0)}%`;
}
