/**
 * A chart of curves over time.
 */
import type { AxisScale } from './axis-scale.js';
import type { Html } from './html.js';
import type { SeriesMark, SeriesStyle } from './series-style.js';
import { CHART_COLOURS, CHART_FONT_SIZE, renderSvgChart, seriesColour, valueAxis } from './svg-chart.js';

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

const HEIGHT = 380;

/** Marks on one curve, about. */
const MARKS = 6;

/** Of a mark, in pixels. */
const MARK_SIZE = 8;

/** The picture, with title and description for screen readers. */
export function renderCurveChart(chart: CurveChart): Html {
  const { id, title, description } = chart;
  return renderSvgChart({
    id,
    title,
    description,
    height: HEIGHT,
    option: {
      grid: { left: 64, right: 24, top: 20, bottom: 56, outerBoundsMode: 'none' },
      xAxis: valueAxis(chart.timeScale, 'time in seconds', ''),
      yAxis: valueAxis(chart.valueScale, null, chart.valueSuffix),
      series: [...chart.curves.map(curveSeries), ...targetSeries(chart)],
    },
  });
}

/** A mark at some of the points: one at each would hide the line. */
function marksOf(symbol: SeriesMark, count: number): object {
  const every = Math.max(1, Math.round(count / MARKS));
  const isMarked = (index: number): boolean => index % every === Math.floor(every / 2);
  return {
    symbol,
    showSymbol: true,
    showAllSymbol: true,
    symbolSize: (_: unknown, { dataIndex }: { readonly dataIndex: number }) => (isMarked(dataIndex) ? MARK_SIZE : 0),
  };
}

function curveSeries({ style, points, faint, dot }: Curve): object {
  const { mark } = style;
  const color = seriesColour(style.colour);
  return {
    type: 'line',
    data: points,
    ...(mark === null || faint ? { showSymbol: points.length < 2, symbolSize: 7 } : marksOf(mark, points.length)),
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
        lineStyle: { color: CHART_COLOURS.text, type: [2, 4], width: 1.25 },
        label: {
          formatter: target.label,
          position: 'insideEndBottom',
          color: CHART_COLOURS.text,
          fontSize: CHART_FONT_SIZE,
          textBorderWidth: 0,
        },
        data: [{ yAxis: target.value }],
      },
    },
  ];
}
