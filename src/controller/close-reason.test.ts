import { describe, expect, it } from 'vitest';
import { closeReason } from './close-reason.js';

describe('closeReason', () => {
  it.each([
    ['', ''],
    ['short', 'short'],
    ['x'.repeat(123), 'x'.repeat(123)],
    ['x'.repeat(124), `${'x'.repeat(120)}...`],
    // Two bytes each, three, four: 123 bytes are in the middle of a character.
    ['é'.repeat(61), 'é'.repeat(61)],
    ['é'.repeat(62), `${'é'.repeat(60)}...`],
    ['€'.repeat(41), '€'.repeat(41)],
    ['€'.repeat(42), `${'€'.repeat(40)}...`],
    [`x${'€'.repeat(41)}`, `x${'€'.repeat(39)}...`],
    ['🙂'.repeat(31), `${'🙂'.repeat(30)}...`],
    [`xyz${'🙂'.repeat(31)}`, `xyz${'🙂'.repeat(29)}...`],
  ])('gives %j as %j', (text, expected) => {
    expect(closeReason(text)).toBe(expected);
    expect(Buffer.byteLength(closeReason(text))).toBeLessThanOrEqual(123);
  });

  it('takes text that is no Unicode', () => {
    expect(Buffer.byteLength(closeReason('\ud83d'.repeat(200)))).toBeLessThanOrEqual(123);
  });
});
