/**
 * docs/limits.md against the limits of the code.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { LIMITS } from './limits.js';

const page = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8');
const rows = [...page.matchAll(/^\| `(\w+)` \| (\d+) \| (.+) \| (.+) \|$/gm)].map(([, name, value]) => [
  name,
  Number(value),
]);

it('docs/limits.md has every limit, with its value, in the order of the code', () => {
  expect(rows).toEqual(Object.entries(LIMITS));
});
