import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FRAME_HEADER_BYTES, FRAME_TYPES } from './frame.js';
import { LIMITS, PROTOCOL_VERSION } from './limits.js';
import { controllerMessageSchema, workerMessageSchema } from './messages.js';

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');

/** The rows of the table whose first cell is `name` in code or plain. */
function rowsOf(name: string): readonly string[] {
  return page.split('\n').filter((line) => line.startsWith(`| \`${name}\` |`) || line.startsWith(`| ${name} |`));
}

function section(title: string): string {
  const start = page.indexOf(`\n### ${title}\n`);
  expect(start, `a section "${title}"`).toBeGreaterThan(0);
  const rest = page.slice(start + 1);
  return rest.slice(0, rest.search(/\n###? /));
}

describe('docs/protocol.md', () => {
  it('is of this version', () => {
    expect(page).toContain(`# The Preduce protocol, version ${PROTOCOL_VERSION.major}.${PROTOCOL_VERSION.minor}\n`);
  });

  const messages = [
    ...workerMessageSchema.options.map((option) => ['2.1 From a worker', option.shape] as const),
    ...controllerMessageSchema.options.map((option) => ['2.2 From the controller', option.shape] as const),
  ].map(([title, shape]) => ({
    title,
    type: shape.type.value,
    fields: Object.keys(shape).filter((f) => f !== 'type'),
  }));

  it.each(messages)('$title: has $type with exactly its fields', ({ title, type, fields }) => {
    const row = section(title)
      .split('\n')
      .find((line) => line.startsWith(`| \`${type}\` |`));
    expect(row, `a row for ${type}`).toBeDefined();
    const cell = row?.split(' | ')[1] ?? '';
    // A field begins the cell or follows a semicolon or an "and"; other code in the cell is values.
    const named = [...cell.matchAll(/(?:^|; |and )`(\w+)`/g)].map((match) => match[1]);
    expect(new Set(named)).toEqual(new Set(fields));
  });

  it.each(['2.1 From a worker', '2.2 From the controller'])('%s: has no message that there is not', (title) => {
    const known = messages.filter((message) => message.title === title).map((message) => message.type);
    const rows = [...section(title).matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]);
    expect(new Set(rows)).toEqual(new Set(['type', ...known]));
  });

  it.each(FRAME_TYPES.map((type, number) => ({ type, number })))('numbers the frame type $type', ({ type, number }) => {
    expect(section('4.3 Frame types')).toMatch(new RegExp(`^\\| ${number} \\| \`${type}\` \\|`, 'm'));
  });

  it('has a table of the header without gaps', () => {
    const cells = [...section('4.1 Bytes').matchAll(/^\| (\d+) \| (\d*) \|/gm)].map((match) =>
      [match[1], match[2]].map(Number),
    );
    let next = 0;
    for (const [offset = -1, bytes = 0] of cells) {
      expect(offset).toBe(next);
      next += bytes;
    }
    expect(next).toBe(FRAME_HEADER_BYTES);
  });

  it.each(Object.entries(LIMITS))('has the limit %s', (name, value) => {
    expect(rowsOf(name)).toEqual([expect.stringContaining(`| ${value} |`)]);
  });
});
