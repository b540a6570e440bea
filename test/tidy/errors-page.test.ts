import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../../src/base/errors.js';
import { errorPageFaults } from './errors-page.js';

describe('docs/errors.md', () => {
  it('explains every error code, and no other', () => {
    const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
    expect(errorPageFaults(page, ERROR_CODES)).toEqual([]);
  });
});

describe('errorPageFaults', () => {
  const row = (code: string, cause = 'why', action = 'do'): string => `| \`${code}\` | ${cause} | ${action} |\n`;

  it.each<[string, string, readonly string[]]>([
    ['nothing where all is well', row('one') + row('two'), []],
    ['a code that is missing', row('one'), ['two: not explained']],
    ['a code that is no more', row('one') + row('two') + row('three'), ['three: no such code']],
    ['a code that is there twice', row('one') + row('two') + row('one'), ['one: explained twice']],
    ['a cause that is missing', row('one', ' ') + row('two'), ['one: an empty cell']],
    ['an action that is missing', row('one') + row('two', 'why', ' '), ['two: an empty cell']],
    ['codes that only the text names', '`one` and `two`', ['one: not explained', 'two: not explained']],
  ])('finds %s', (_, page, faults) => {
    expect(errorPageFaults(page, ['one', 'two'])).toEqual(faults);
  });
});
