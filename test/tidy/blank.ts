/**
 * Blanks the parts of a source text that are not code, so that a check by words does not stumble over prose. A scanner of
 * its own, because the compiler's interface is not for programs here and a regular expression cannot nest templates.
 * Every blanked character becomes a space and line ends stay: positions and line numbers hold.
 */

/** Characters after which a slash begins a regular expression, not a division. */
const BEFORE_PATTERN = /(?:^|[(,=:[!&|?{};+*%<>~^-]|\breturn|\bcase|\btypeof|=>)\s*$/;

/** End (exclusive) of a string or pattern that begins at `start`; an unescaped line end ends it too. */
function endOfLiteral(text: string, start: number, close: string): number {
  let inClass = false;
  for (let i = start + 1; i < text.length; i += 1) {
    const char = text[i];
    if (char === '\n') return i;
    if (char === '\\') i += 1;
    else if (close === '/' && char === '[') inClass = true;
    else if (close === '/' && char === ']') inClass = false;
    else if (char === close && !inClass) return i + 1;
  }
  return text.length;
}

/** End (exclusive) of a template's text from `start`: past its backtick or past the next `${`. */
function endOfTemplateText(text: string, start: number): number {
  for (let i = start; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '`') return i + 1;
    else if (text[i] === '$' && text[i + 1] === '{') return i + 2;
  }
  return text.length;
}

/** The text without comments, and without the contents of literals unless `keepStrings`. */
export function blankProse(text: string, { keepStrings = false } = {}): string {
  let out = '';
  /** For each template that is open: the depth of braces within its current expression. */
  const templates: number[] = [];
  const blank = (end: number): void => {
    out += text.slice(out.length, end).replaceAll(/[^\n]/g, ' ');
  };
  const keep = (end: number): void => {
    out += text.slice(out.length, end);
  };
  const takeTemplateText = (start: number): void => {
    const end = endOfTemplateText(text, start);
    (keepStrings ? keep : blank)(end);
    if (text.endsWith('${', end)) templates.push(0);
  };
  while (out.length < text.length) {
    const at = out.length;
    const char = text[at] ?? '';
    const depth = templates.at(-1);
    if (text.startsWith('//', at)) {
      const end = text.indexOf('\n', at);
      blank(end === -1 ? text.length : end);
    } else if (text.startsWith('/*', at)) {
      const end = text.indexOf('*/', at + 2);
      blank(end === -1 ? text.length : end + 2);
    } else if (char === "'" || char === '"' || (char === '/' && BEFORE_PATTERN.test(out.slice(-200)))) {
      const end = endOfLiteral(text, at, char);
      (keepStrings ? keep : blank)(end);
    } else if (char === '`') {
      takeTemplateText(at + 1);
    } else if (depth !== undefined && char === '}' && depth === 0) {
      templates.pop();
      takeTemplateText(at + 1);
    } else {
      if (depth !== undefined && char === '{') templates[templates.length - 1] = depth + 1;
      if (depth !== undefined && char === '}') templates[templates.length - 1] = depth - 1;
      keep(at + 1);
    }
  }
  return out;
}
