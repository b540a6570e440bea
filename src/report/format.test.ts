import { describe, expect, it } from 'vitest';
import { formatCount, formatFactor, formatPercent, formatSeconds, formatSteps, formatTarget } from './format.js';

describe('formats', () => {
  it.each<[string, string]>([
    [formatPercent(0.97123, 2), '97.12%'],
    [formatPercent(null), '—'],
    [formatTarget(0.95), '95%'],
    [formatTarget(0.975), '97.5%'],
    [formatTarget(0.57), '57%'],
    [formatSeconds(0.123), '0.12 s'],
    [formatSeconds(12.34), '12.3 s'],
    [formatSeconds(312.4), '312 s'],
    [formatSeconds(null), '—'],
    [formatFactor(2.345), '2.35×'],
    [formatFactor(null), '—'],
    [formatCount(12345.4), '12,345'],
    [formatSteps([10, 5, 7]), '10 · 5 · 7'],
    [formatSteps([7, 7]), '7 each'],
    [formatSteps([1, 2, 3, 4, 5000]), '1 to 5,000'],
    [formatSteps([]), '—'],
  ])('%s', (found, expected) => {
    expect(found).toBe(expected);
  });
});
