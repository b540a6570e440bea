import { describe, expect, it } from 'vitest';
import { formatBytes, formatDuration, parseBytes, parseDurationMs } from './units.js';

describe('parseDurationMs', () => {
  it.each([
    ['5s', 5000],
    ['250ms', 250],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['1.5s', 1500],
    ['.5 s', 500],
    ['7', 7000],
  ])('reads %s', (text, milliseconds) => {
    expect(parseDurationMs(text)).toBe(milliseconds);
  });

  it.each(['', 's', '-1s', '5 parsecs', '1e3s', 'soon'])('refuses "%s"', (text) => {
    expect(() => parseDurationMs(text)).toThrow(`expected a duration like 250ms, 5s or 2m, got "${text}"`);
  });
});

describe('parseBytes', () => {
  it.each([
    ['45MB', 45e6],
    ['64kB', 64e3],
    ['1.5GB', 1.5e9],
    ['12', 12],
    ['12B', 12],
  ])('reads %s', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  it.each(['', '45 apples', '-1MB', 'MB'])('refuses "%s"', (text) => {
    expect(() => parseBytes(text)).toThrow(`expected a size like 64kB or 45MB, got "${text}"`);
  });
});

it.each([
  [12.4, '12 ms'],
  [12_340, '12.3 s'],
  [200_000, '3 min 20 s'],
])('writes %d ms as %s', (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text);
});

it.each([
  [512, '512 B'],
  [1200, '1.2 kB'],
  [45e6, '45.0 MB'],
  [3.4e9, '3.40 GB'],
])('writes %d bytes as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
