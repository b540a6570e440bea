/**
 * The last lines of a terminal, drawn again and again, with lines that stay above them. A frame is one write that goes over
 * the old one without clearing it first, so nothing flickers; no line is longer than the terminal is wide, so nothing wraps.
 * Below it the cursor rests, hidden.
 */
import { assert } from '../base/assert.js';

/** Of a `tty.WriteStream`. */
export interface TerminalStream {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

export interface LiveArea {
  /** Characters that fit in a line. */
  readonly columns: number;
  /** Lines that fit. */
  readonly rows: number;
  /** Shows these lines in place of those before. */
  draw(lines: readonly string[]): void;
  /** A line that stays. */
  print(line: string): void;
  /** Clears the area and gives the cursor back. Everything after it is only printed. */
  close(): void;
}

const ESCAPE = '\u001b[';
const HIDE_CURSOR = `${ESCAPE}?25l`;
const SHOW_CURSOR = `${ESCAPE}?25h`;
const WRAP_OFF = `${ESCAPE}?7l`;
const WRAP_ON = `${ESCAPE}?7h`;
const CLEAR_LINE_END = `${ESCAPE}K`;
const CLEAR_BELOW = `${ESCAPE}J`;

/** For terminals that do not tell. */
const COLUMNS = 80;
const ROWS = 24;

/** `text` in that many columns, with an ellipsis where some is left out. */
export function fit(text: string, columns: number): string {
  if (text.length <= columns) return text;
  return columns < 1 ? '' : `${text.slice(0, columns - 1)}…`;
}

export function createLiveArea(stream: TerminalStream): LiveArea {
  let shown: readonly string[] = [];
  let closed = false;

  // The last column stays free: clearing the rest of a full line would take its last character.
  const columns = (): number => Math.max(1, (stream.columns ?? COLUMNS) - 1);

  /** To the first line of the area. One that has become longer than the terminal is wide lies in several rows now. */
  function toTop(): string {
    const height = shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / (columns() + 1))), 0);
    return height === 0 ? '\r' : `${ESCAPE}${height}A\r`;
  }

  const frameOf = (lines: readonly string[]): string =>
    lines.map((line) => `${line}${CLEAR_LINE_END}\n`).join('') + CLEAR_BELOW;

  return {
    get columns() {
      return columns();
    },
    get rows() {
      return (stream.rows ?? ROWS) - 1;
    },
    draw(lines) {
      if (closed) return;
      assert(!lines.some((line) => line.includes('\n')), 'a line of a live area with a line break');
      const next = lines.slice(0, this.rows).map((line) => fit(line, columns()));
      const start = shown.length === 0 ? HIDE_CURSOR + WRAP_OFF : '';
      stream.write(start + toTop() + frameOf(next));
      shown = next;
    },
    print(line) {
      if (shown.length === 0) stream.write(`${line}\n`);
      else {
        // It may be longer than the terminal is wide, and nothing of it may be lost.
        stream.write(`${toTop()}${WRAP_ON}${line}${CLEAR_LINE_END}\n${WRAP_OFF}${frameOf(shown)}`);
      }
    },
    close() {
      closed = true;
      if (shown.length > 0) stream.write(toTop() + CLEAR_BELOW + WRAP_ON + SHOW_CURSOR);
      shown = [];
    },
  };
}
