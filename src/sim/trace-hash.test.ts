import { describe, expect, it } from 'vitest';
import { createTraceHash } from './trace-hash.js';

function hashOf(...texts: readonly string[]): string {
  const hash = createTraceHash();
  for (const text of texts) hash.add(text);
  return hash.digest();
}

describe('createTraceHash', () => {
  it('depends on the text alone, not on how it is cut', () => {
    expect(hashOf('ab', 'c')).toBe(hashOf('abc'));
    expect(hashOf('abc')).toMatch(/^[0-9a-f]{16}$/);
  });

  it.each([
    ['abc', 'acb'],
    ['', 'a'],
    ['aaaa', 'aaaaa'],
    ['{"k":1}', '{"k":2}'],
  ])('differs for %j and %j in both halves', (a, b) => {
    expect(hashOf(a).slice(0, 8)).not.toBe(hashOf(b).slice(0, 8));
    expect(hashOf(a).slice(8)).not.toBe(hashOf(b).slice(8));
  });
});
