import { expect, it } from 'vitest';
import { PAGE_STYLE } from './page-style.js';
import { SERIES_COLOURS, seriesStyle } from './series-style.js';

it('gives the first 36 series styles of their own, neighbours differing in colour and dashes', () => {
  const styles = Array.from({ length: 36 }, (_, index) => seriesStyle(index));
  expect(new Set(styles.map((style) => JSON.stringify(style))).size).toBe(36);
  styles.slice(1, SERIES_COLOURS).forEach((style, index) => {
    expect(style.colour).not.toBe(styles[index]?.colour);
    expect(style.dash).not.toEqual(styles[index]?.dash);
  });
});

it('has a colour for each on light and on dark pages', () => {
  for (let colour = 0; colour < SERIES_COLOURS; colour += 1) {
    expect(PAGE_STYLE.match(new RegExp(`--series-${colour}:`, 'g'))?.length).toBe(2);
  }
});
