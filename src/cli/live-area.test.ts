/**
 * What is on the screen after what was written.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { createScreen, type Screen } from '../../test/support/screen.js';
import { createLiveArea, fit, type LiveArea } from './live-area.js';

let screen: Screen;
let area: LiveArea;

beforeEach(() => {
  screen = createScreen(20, 6);
  screen.write('$ preduce\n');
  area = createLiveArea(screen);
});

describe('a live area', () => {
  it('shows the newest lines only, whatever their lengths', () => {
    area.draw(['a long first line', 'second']);
    area.draw(['short', 'a longer second', 'third']);
    expect(screen.text()).toEqual(['$ preduce', 'short', 'a longer second', 'third']);
    area.draw(['one']);
    expect(screen.text()).toEqual(['$ preduce', 'one']);
  });

  it('writes a frame at once, and clears nothing before it is written over', () => {
    area.draw(['a', 'b']);
    const { length } = screen.writes;
    area.draw(['c', 'd']);
    expect(screen.writes.slice(length)).toEqual(['\u001b[2A\rc\u001b[K\nd\u001b[K\n\u001b[J']);
  });

  it('keeps printed lines above it', () => {
    area.draw(['a', 'bbbbbbbbbbbb']);
    area.print('news');
    area.print('more');
    expect(screen.text()).toEqual(['$ preduce', 'news', 'more', 'a', 'bbbbbbbbbbbb']);
    area.draw(['c', 'd']);
    expect(screen.text()).toEqual(['$ preduce', 'news', 'more', 'c', 'd']);
  });

  it('prints all of a line that is longer than the terminal is wide', () => {
    area.draw(['a']);
    area.print('this line has 29 characters !');
    expect(screen.text()).toEqual(['$ preduce', 'this line has 29 cha', 'racters !', 'a']);
  });

  it('cuts lines and rows that do not fit', () => {
    area.draw(['twenty-five characters !!', 'b', 'c', 'd', 'e', 'f', 'g']);
    expect(screen.text()).toEqual(['$ preduce', 'twenty-five charac…', 'b', 'c', 'd', 'e']);
  });

  it('fills a line but its last column, and loses nothing of it', () => {
    area.draw(['x'.repeat(19)]);
    expect(screen.text()).toEqual(['$ preduce', 'x'.repeat(19)]);
  });

  it('hides the cursor, and gives it back', () => {
    area.draw(['a']);
    expect(screen).toMatchObject({ cursor: false, wraps: false });
    area.print('news');
    expect(screen).toMatchObject({ cursor: false, wraps: false });
    area.close();
    expect(screen).toMatchObject({ cursor: true, wraps: true });
    expect(screen.text()).toEqual(['$ preduce', 'news']);
  });

  it('only prints after its end', () => {
    area.draw(['a']);
    area.close();
    area.draw(['b']);
    area.print('result');
    area.close();
    expect(screen.text()).toEqual(['$ preduce', 'result']);
    expect(screen).toMatchObject({ cursor: true, wraps: true });
  });

  it('writes no sequences where nothing was drawn', () => {
    const { length } = screen.writes;
    area.print('news');
    area.close();
    expect(screen.writes.slice(length)).toEqual(['news\n']);
  });

  it('follows the width of the terminal', () => {
    screen.columns = 40;
    area.draw(['this line has 29 characters !']);
    expect(screen.text()).toEqual(['$ preduce', 'this line has 29 characters !']);
  });

  it('takes the usual size where the terminal tells none', () => {
    const bare = createLiveArea({ write: () => undefined });
    expect([bare.columns, bare.rows]).toEqual([79, 23]);
  });
});

it.each([
  ['text', 5, 'text'],
  ['text', 4, 'text'],
  ['text', 3, 'te…'],
  ['text', 1, '…'],
  ['text', 0, ''],
])('fit(%j, %i)', (text, columns, fitted) => {
  expect(fit(text, columns)).toBe(fitted);
});
