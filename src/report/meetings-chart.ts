/**
 * Two matrices side by side: how often each pair of workers met in a group, and how often it would have, had groups been
 * drawn uniformly. The number is in each cell; the shade only helps to find the outliers.
 */
import type { Meetings } from '../observe/meetings.js';
import type { Html } from './html.js';
import { chooseWorkers } from './shown-workers.js';
import { CHART_COLOURS, CHART_FONT_SIZE, CHART_WIDTH, renderSvgChart } from './svg-chart.js';

export interface MeetingsChart {
  /** Unique on the page; prefix of the ids in the picture. */
  readonly id: string;
  readonly title: string;
  readonly meetings: Meetings;
  /** By worker number; decides who is shown when there are too many. */
  readonly stepsPerWorker: readonly number[];
}

const WORKERS_MAX = 16;
const LEFT = 76;
const TOP = 58;
const GAP = 84;
const CELL_MAX = 46;
/** Room for a title above a matrix of few workers. */
const PANEL_WIDTH_MIN = 250;
/** Of the darkest cell: the number on it stays readable, on a light page and a dark one. */
const OPACITY_MAX = 0.5;

interface Shown {
  readonly names: readonly string[];
  readonly met: readonly (readonly number[])[];
  readonly uniform: readonly (readonly number[])[];
}

/** The part of the matrices that is shown. */
function pickShown({ meetings, stepsPerWorker }: Pick<MeetingsChart, 'meetings' | 'stepsPerWorker'>): Shown {
  const indices = meetings.workers.map((_, index) => index);
  const chosen = chooseWorkers(indices, WORKERS_MAX, (index) => stepsPerWorker[meetings.workers[index] ?? 0] ?? 0);
  const shown = chosen.toSorted((a, b) => a - b);
  const pick = (table: Meetings['met']): number[][] => shown.map((a) => shown.map((b) => table[a]?.[b] ?? 0));
  return {
    names: shown.map((index) => String(meetings.workers[index])),
    met: pick(meetings.met),
    uniform: pick(meetings.uniform),
  };
}

/** How many workers are shown, and what their numbers say. */
export function describeShown(of: Pick<MeetingsChart, 'meetings' | 'stepsPerWorker'>) {
  const shown = pickShown(of);
  return { shown: shown.names.length, description: describe(shown) };
}

/** `7`, `312`, `1.2k`; one decimal where `isExpected` and small. */
export function formatMeetings(count: number, isExpected = false): string {
  if (count >= 10_000) return `${Math.round(count / 1000)}k`;
  if (count >= 1000) return `${(count / 1000).toFixed(1)}k`;
  return isExpected && count < 10 ? String(Number(count.toFixed(1))) : String(Math.round(count));
}

/** The picture, with title and description for screen readers. */
export function renderMeetingsChart(chart: MeetingsChart): Html {
  const { id, title } = chart;
  const shown = pickShown(chart);
  const { names, met, uniform } = shown;
  const most = Math.max(1, ...met.flat(), ...uniform.flat());
  const room = (CHART_WIDTH - LEFT - GAP - 8) / 2;
  const cell = Math.min(CELL_MAX, Math.floor(room / names.length));
  const second = LEFT + Math.max(PANEL_WIDTH_MIN, cell * names.length) + GAP;
  return renderSvgChart({
    id,
    title,
    description: describe(shown),
    height: TOP + cell * names.length + 8,
    option: {
      graphic: {
        elements: [
          ...panel({ left: LEFT, cell, names, heading: 'as it was', values: met, most, isExpected: false }),
          ...panel({ left: second, cell, names, heading: 'drawn by chance', values: uniform, most, isExpected: true }),
        ],
      },
    },
  });
}

/** `Two workers met 3 to 9 times; drawn by chance they would have met 6 times.` */
function describe({ met, uniform }: Shown): string {
  const range = (table: readonly (readonly number[])[], isExpected: boolean): string => {
    const values = table.flatMap((row, a) => row.filter((_, b) => b > a));
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => formatMeetings(value, isExpected));
    return low === high ? `${low}` : `${low} to ${high}`;
  };
  return `Two workers met ${range(met, false)} times; drawn by chance they would have met ${range(uniform, true)} times.`;
}

interface Panel {
  readonly left: number;
  readonly cell: number;
  readonly names: readonly string[];
  readonly heading: string;
  readonly values: readonly (readonly number[])[];
  /** Value of the darkest cell. */
  readonly most: number;
  readonly isExpected: boolean;
}

function text(content: string, x: number, y: number, options: { size?: number; fill?: string; align?: string } = {}) {
  const { size = CHART_FONT_SIZE, fill = CHART_COLOURS.textSoft, align = 'center' } = options;
  return {
    type: 'text',
    silent: true,
    z: 2,
    style: { text: content, x, y, fill, fontSize: size, textAlign: align, textVerticalAlign: 'middle' },
  };
}

function panel({ left, cell, names, heading, values, most, isExpected }: Panel): object[] {
  const numberSize = Math.max(9, Math.min(CHART_FONT_SIZE, Math.floor(cell * 0.43)));
  const labelSize = Math.min(CHART_FONT_SIZE, Math.max(10, numberSize));
  const middle = (index: number): number => (index + 0.5) * cell;
  const elements: object[] = [
    text(heading, left, 12, { fill: CHART_COLOURS.text, align: 'left' }),
    text('worker', left - 6, TOP - 12, { align: 'right', size: labelSize }),
  ];
  for (const [row, name] of names.entries()) {
    elements.push(text(name, left + middle(row), TOP - 12, { size: labelSize }));
    elements.push(text(name, left - 10, TOP + middle(row), { size: labelSize, align: 'right' }));
    for (const [column, value] of (values[row] ?? []).entries()) {
      const shape = { x: left + column * cell + 0.5, y: TOP + row * cell + 0.5, width: cell - 1, height: cell - 1 };
      if (row === column) {
        elements.push({ type: 'rect', silent: true, shape, style: { fill: CHART_COLOURS.panel } });
        continue;
      }
      const style = {
        fill: CHART_COLOURS.heat,
        fillOpacity: OPACITY_MAX * (value / most),
        stroke: CHART_COLOURS.grid,
        lineWidth: 1,
      };
      elements.push({ type: 'rect', silent: true, shape, style });
      elements.push(
        text(formatMeetings(value, isExpected), left + middle(column), TOP + middle(row), {
          size: numberSize,
          fill: CHART_COLOURS.text,
        }),
      );
    }
  }
  return elements;
}
