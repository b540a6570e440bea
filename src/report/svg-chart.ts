/**
 * Charts rendered by ECharts to SVG without a browser. Colours are placeholders that become CSS variables, so that one
 * picture serves a light page, a dark one and paper.
 */
import { BarChart, CustomChart, LineChart } from 'echarts/charts';
import {
  GraphicComponent,
  GridComponent,
  MarkLineComponent,
  MarkPointComponent,
  TitleComponent,
} from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { AxisScale } from './axis-scale.js';
import { escapeHtml, type Html, trustedHtml } from './html.js';
import { SERIES_COLOURS } from './series-style.js';

use([
  BarChart,
  CustomChart,
  LineChart,
  GraphicComponent,
  GridComponent,
  MarkLineComponent,
  MarkPointComponent,
  TitleComponent,
  SVGRenderer,
]);

export interface SvgChart {
  /** Unique on the page; prefix of the ids in the picture. */
  readonly id: string;
  readonly title: string;
  /** What a reader who does not see the picture should know. */
  readonly description: string;
  readonly height: number;
  /** Of ECharts, `CHART_COLOURS` and `seriesColour` its only colours. */
  readonly option: object;
}

export const CHART_WIDTH = 900;
export const CHART_FONT_SIZE = 13;

/** Colours that nothing else uses, and the style sheet's names of what is put in their place. */
export const CHART_COLOURS = {
  textSoft: '#b00001',
  grid: '#b00002',
  axis: '#b00003',
  text: '#b00004',
  compute: '#b00005',
  wait: '#b00006',
  reduce: '#b00007',
  heat: '#b00008',
  panel: '#b00009',
} as const;

const VARIABLES: Readonly<Record<string, string>> = {
  [CHART_COLOURS.textSoft]: 'var(--text-soft)',
  [CHART_COLOURS.grid]: 'var(--grid)',
  [CHART_COLOURS.axis]: 'var(--axis)',
  [CHART_COLOURS.text]: 'var(--text)',
  [CHART_COLOURS.compute]: 'var(--compute)',
  [CHART_COLOURS.wait]: 'var(--wait)',
  [CHART_COLOURS.reduce]: 'var(--reduce)',
  [CHART_COLOURS.heat]: 'var(--heat)',
  [CHART_COLOURS.panel]: 'var(--panel)',
};

/** Placeholder of the `colour`-th series colour. */
export function seriesColour(colour: number): string {
  return `#a0000${colour}`;
}

/** The picture, with title and description for screen readers. */
export function renderSvgChart(chart: SvgChart): Html {
  const instance = init(null, null, { renderer: 'svg', ssr: true, width: CHART_WIDTH, height: chart.height });
  try {
    instance.setOption({ animation: false, backgroundColor: 'transparent', ...chart.option });
    return dress(instance.renderToSVGString(), chart);
  } finally {
    // Without it a timer keeps the process alive.
    instance.dispose();
  }
}

/** An axis of numbers; `name` stands below a horizontal one, which has no lines across. */
export function valueAxis(scale: AxisScale, name: string | null, suffix: string): object {
  return {
    type: 'value',
    min: scale.min,
    max: scale.max,
    interval: scale.step,
    axisLabel: {
      color: CHART_COLOURS.textSoft,
      fontSize: CHART_FONT_SIZE,
      formatter: (value: number) => `${value.toFixed(scale.decimals)}${suffix}`,
    },
    axisTick: { lineStyle: { color: CHART_COLOURS.axis } },
    axisLine: { show: true, onZero: false, lineStyle: { color: CHART_COLOURS.axis } },
    splitLine: { show: name === null, lineStyle: { color: CHART_COLOURS.grid } },
    ...(name === null ? {} : axisName(name)),
  };
}

/** The name of a horizontal axis, in its middle. */
export function axisName(name: string): object {
  const nameTextStyle = { color: CHART_COLOURS.textSoft, fontSize: CHART_FONT_SIZE };
  return { name, nameLocation: 'middle', nameGap: 34, nameTextStyle };
}

/** Takes out what only a script would use, and makes ids, colours and texts the page's own. */
function dress(svg: string, { id, title, description, height }: SvgChart): Html {
  const bare = svg
    .replace(/<style[\s\S]*?<\/style>/g, '')
    .replace(/ (?:class|ecmeta_\w+|pointer-events|xmlns:xlink|baseProfile)="[^"]*"/g, '')
    .replace(/font-family:[^;"]*;?/g, '')
    .replace(/\bzr\d+-/g, `${id}-`)
    .replace(/#[ab]0000\d/g, (placeholder) => toCssVariable(placeholder));
  const open = `<svg viewBox="0 0 ${CHART_WIDTH} ${height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="${id}-title ${id}-description">`;
  const texts = `<title id="${id}-title">${escapeHtml(title)}</title><desc id="${id}-description">${escapeHtml(description)}</desc>`;
  return trustedHtml(bare.replace(/^<svg[^>]*>/, () => open + texts).trim());
}

function toCssVariable(placeholder: string): string {
  const named = VARIABLES[placeholder];
  if (named !== undefined) return named;
  const colour = Number(placeholder.at(-1));
  return colour < SERIES_COLOURS ? `var(--series-${colour})` : placeholder;
}
