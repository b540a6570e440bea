/**
 * A chart of curves over time, rendered by ECharts to SVG without a browser. Colours are placeholders that become CSS
 * variables, so that one picture serves a light page, a dark one and paper.
 */
import { LineChart } from 'echarts/charts';
import { GridComponent, MarkLineComponent, MarkPointComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { AxisScale } from './axis-scale.js';
import { escapeHtml, type Html, trustedHtml } from './html.js';
import { type SeriesStyle, SERIES_COLOURS } from './series-style.js';

use([LineChart, GridComponent, MarkLineComponent, MarkPointComponent, SVGRenderer]);

export interface Curve {
  readonly style: SeriesStyle;
  /** [seconds, value]; null: unknown, the line has a gap. */
  readonly points: readonly (readonly [number, number | null])[];
  /** A repeat that is not the typical one: drawn thin. */
  readonly faint: boolean;
  /** A dot on the curve, where it reaches the target. */
  readonly dot: readonly [number, number] | null;
}

export interface CurveChart {
  /** Unique on the page; prefix of the ids in the picture. */
  readonly id: string;
  readonly title: string;
  /** What a reader who does not see the picture should know. */
  readonly description: string;
  readonly curves: readonly Curve[];
  readonly timeScale: AxisScale;
  readonly valueScale: AxisScale;
  readonly valueSuffix: string;
  /** A line across, with its label. */
  readonly target: { readonly value: number; readonly label: string } | null;
}

const WIDTH = 900;
const HEIGHT = 380;
const FONT_SIZE = 13;

/** Colours that nothing else uses; `toCssVariables` replaces them. */
const TEXT = '#b00001';
const GRID = '#b00002';
const AXIS = '#b00003';
const TARGET = '#b00004';
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  [TEXT]: 'var(--text-soft)',
  [GRID]: 'var(--grid)',
  [AXIS]: 'var(--axis)',
  [TARGET]: 'var(--text)',
};

function seriesPlaceholder(style: SeriesStyle): string {
  return `#a0000${style.colour}`;
}

/** The picture, with title and description for screen readers. */
export function renderCurveChart(chart: CurveChart): Html {
  const instance = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT });
  try {
    instance.setOption({
      animation: false,
      backgroundColor: 'transparent',
      grid: { left: 64, right: 24, top: 20, bottom: 56, outerBoundsMode: 'none' },
      xAxis: axis(chart.timeScale, 'time in seconds', ''),
      yAxis: axis(chart.valueScale, null, chart.valueSuffix),
      series: [...chart.curves.map(curveSeries), ...targetSeries(chart)],
    });
    return dress(instance.renderToSVGString(), chart);
  } finally {
    // Without it a timer keeps the process alive.
    instance.dispose();
  }
}

function axis(scale: AxisScale, name: string | null, suffix: string): object {
  return {
    type: 'value',
    min: scale.min,
    max: scale.max,
    interval: scale.step,
    axisLabel: {
      color: TEXT,
      fontSize: FONT_SIZE,
      formatter: (value: number) => `${value.toFixed(scale.decimals)}${suffix}`,
    },
    axisTick: { lineStyle: { color: AXIS } },
    axisLine: { show: true, onZero: false, lineStyle: { color: AXIS } },
    splitLine: { show: name === null, lineStyle: { color: GRID } },
    ...(name === null
      ? {}
      : { name, nameLocation: 'middle', nameGap: 34, nameTextStyle: { color: TEXT, fontSize: FONT_SIZE } }),
  };
}

function curveSeries({ style, points, faint, dot }: Curve): object {
  const color = seriesPlaceholder(style);
  return {
    type: 'line',
    data: points,
    showSymbol: points.length < 2,
    symbolSize: 7,
    lineStyle: { color, width: faint ? 1.25 : 2.5, opacity: faint ? 0.5 : 1, type: style.dash, cap: 'butt' },
    itemStyle: { color },
    ...(dot === null
      ? {}
      : {
          markPoint: {
            symbol: 'circle',
            symbolSize: 10,
            silent: true,
            label: { show: false },
            data: [{ coord: dot, itemStyle: { color } }],
          },
        }),
  };
}

/** The target on a series of its own, which has no curve. */
function targetSeries({ target }: CurveChart): object[] {
  if (target === null) return [];
  return [
    {
      type: 'line',
      data: [],
      markLine: {
        silent: true,
        symbol: 'none',
        lineStyle: { color: TARGET, type: [2, 4], width: 1.25 },
        label: {
          formatter: target.label,
          position: 'insideEndBottom',
          color: TARGET,
          fontSize: FONT_SIZE,
          textBorderWidth: 0,
        },
        data: [{ yAxis: target.value }],
      },
    },
  ];
}

/** Takes out what only a script would use, and makes ids, colours and texts the page's own. */
function dress(svg: string, { id, title, description }: CurveChart): Html {
  const bare = svg
    .replace(/<style[\s\S]*?<\/style>/g, '')
    .replace(/ (?:class|ecmeta_\w+|pointer-events|xmlns:xlink|baseProfile)="[^"]*"/g, '')
    .replace(/font-family:[^;"]*;?/g, '')
    .replace(/\bzr\d+-/g, `${id}-`)
    .replace(/#[ab]0000\d/g, (placeholder) => toCssVariable(placeholder));
  const open = `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="${id}-title ${id}-description">`;
  const texts = `<title id="${id}-title">${escapeHtml(title)}</title><desc id="${id}-description">${escapeHtml(description)}</desc>`;
  return trustedHtml(bare.replace(/^<svg[^>]*>/, () => open + texts).trim());
}

function toCssVariable(placeholder: string): string {
  const named = PLACEHOLDERS[placeholder];
  if (named !== undefined) return named;
  const colour = Number(placeholder.at(-1));
  return colour < SERIES_COLOURS ? `var(--series-${colour})` : placeholder;
}
