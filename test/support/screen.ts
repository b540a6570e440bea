/**
 * A terminal that shows what was written to it. It knows the few sequences that the program uses, and fails at any other.
 */

export interface Screen {
  columns: number;
  rows: number;
  readonly writes: readonly string[];
  write(text: string): void;
  /** Rows without the spaces at their end, down to the last that is not empty. */
  text(): string[];
  readonly cursor: boolean;
  readonly wraps: boolean;
}

const ESCAPE = '\u001b';
const UP = new RegExp(`^${ESCAPE}\\[\\d+A$`);
const PARTS = new RegExp(`${ESCAPE}\\[[?\\d]*[A-Za-z]|[^]`, 'gu');

/** A terminal of that size, empty. */
export function createScreen(columns: number, rows: number): Screen {
  const lines: string[] = [''];
  const writes: string[] = [];
  let [x, y] = [0, 0];
  let cursor = true;
  let wraps = true;

  function newLine(): void {
    y += 1;
    lines[y] ??= '';
  }
  function put(character: string, width: number): void {
    if (x === width && wraps) {
      newLine();
      x = 0;
    }
    x = Math.min(x, width - 1);
    const line = (lines[y] ?? '').padEnd(x);
    lines[y] = line.slice(0, x) + character + line.slice(x + 1);
    x += 1;
  }
  function control(sequence: string, width: number): void {
    if (sequence === '\n') {
      newLine();
      x = 0;
    } else if (sequence === '\r') x = 0;
    else if (UP.test(sequence)) y = Math.max(0, y - Number(sequence.slice(2, -1)));
    else if (sequence === '\u001b[K') lines[y] = (lines[y] ?? '').slice(0, Math.min(x, width - 1));
    else if (sequence === '\u001b[J') {
      lines[y] = (lines[y] ?? '').slice(0, x);
      lines.length = y + 1;
    } else if (sequence === '\u001b[?25l') cursor = false;
    else if (sequence === '\u001b[?25h') cursor = true;
    else if (sequence === '\u001b[?7l') wraps = false;
    else if (sequence === '\u001b[?7h') wraps = true;
    else throw new Error(`a sequence that is not known: ${JSON.stringify(sequence)}`);
  }
  return {
    columns,
    rows,
    writes,
    write(text) {
      writes.push(text);
      for (const part of text.match(PARTS) ?? []) {
        if (part.length > 1 || part < ' ') control(part, this.columns);
        else put(part, this.columns);
      }
    },
    text() {
      const trimmed = lines.map((line) => line.trimEnd());
      return trimmed.slice(0, trimmed.findLastIndex((line) => line !== '') + 1);
    },
    get cursor() {
      return cursor;
    },
    get wraps() {
      return wraps;
    },
  };
}
