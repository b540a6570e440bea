/**
 * How curves are told apart: by colour, by dashes and, where there are more curves than colours, by marks, so that a
 * colour-blind reader, or a grey print, can tell them too.
 */

/** Number of colours: the page's CSS has --series-0 to --series-5. */
export const SERIES_COLOURS = 6;

/** No circle: that is where a curve reaches the target. */
export type SeriesMark = 'triangle' | 'rect' | 'diamond';

export interface SeriesStyle {
  /** Number of the CSS variable. */
  readonly colour: number;
  /** Lengths of dash and gap; solid where there are none. */
  readonly dash: 'solid' | readonly number[];
  /** At some points of the curve; null: the line alone. */
  readonly mark: SeriesMark | null;
}

const DASHES: readonly SeriesStyle['dash'][] = ['solid', [9, 4], [3, 3], [12, 3, 3, 3], [16, 5], [6, 2, 2, 2, 2, 2]];

/** Of each round through the colours. */
const MARKS: readonly SeriesStyle['mark'][] = [null, 'rect', 'triangle', 'diamond'];

/** Style of the `index`-th group; styles differ for the first 36. */
export function seriesStyle(index: number): SeriesStyle {
  const round = Math.floor(index / SERIES_COLOURS);
  return {
    colour: index % SERIES_COLOURS,
    dash: DASHES[(index + round) % DASHES.length] ?? 'solid',
    mark: MARKS[round % MARKS.length] ?? null,
  };
}
