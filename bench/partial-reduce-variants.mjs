/**
 * What makes partial reduce faster (docs/decisions/0021-what-makes-partial-reduce-faster.md): each variant tuned by itself, eight
 * simulated workers, seconds to the target, geometric means of nine seeds, and of their gains over the first. A few
 * minutes. Needs `npm run build`.
 */
import { formatTime, geometricMean, measure, printHead, printRow, tune } from './simulated-runs.mjs';

const SEEDS = 9;
const SETTINGS = [
  ['`hl:1`, 10 Gbit/s', { slow: ['hl:1'], bitsPerSecond: 1e10 }],
  ['`hl:3`, 10 Gbit/s', { slow: ['hl:3'], bitsPerSecond: 1e10 }],
  ['`hl:3`, 100 Gbit/s', { slow: ['hl:3'], bitsPerSecond: 1e11 }],
  ['`hl:3`, 1 Gbit/s', { slow: ['hl:3'], bitsPerSecond: 1e9 }],
  ['32 workers, `hl:3`, 10 Gbit/s', { workers: 32, slow: ['hl:3'], bitsPerSecond: 1e10 }],
];
const BASE = { groupSize: 3, weights: 'constant' };
const VARIANTS = [
  ['P = 3, constant weights', {}],
  ['P = 2', { groupSize: 2 }],
  ['P = 4', { groupSize: 4 }],
  ['P = 5', { groupSize: 5 }],
  ['dynamic, alpha = .9', { weights: 'dynamic', alpha: 0.9 }],
  ['dynamic, alpha = .6', { weights: 'dynamic', alpha: 0.6 }],
  ['dynamic, alpha = .3', { weights: 'dynamic', alpha: 0.3 }],
  ['P = 2, dynamic, alpha = .9', { groupSize: 2, weights: 'dynamic', alpha: 0.9 }],
  ['P = 2, dynamic, alpha = .6', { groupSize: 2, weights: 'dynamic', alpha: 0.6 }],
  ['filter window', { filter: 'window' }],
  ['momentum .5', { momentum: 0.5 }],
  ['P = 2, momentum .5', { groupSize: 2, momentum: 0.5 }],
  ['no momentum', { momentum: 0 }],
];

function measureIn(setting, [name, change]) {
  const contender = { name, options: { strategy: 'partial-reduce', ...BASE, ...change } };
  return measure(setting, contender, { rate: tune(setting, contender), seeds: SEEDS });
}

printHead(['variant', ...SETTINGS.map(([name]) => name), 'gain over the first']);
let first = null;
for (const variant of VARIANTS) {
  const rows = SETTINGS.map(([, setting]) => measureIn({ workers: 8, ...setting }, variant));
  first ??= rows;
  const gain = geometricMean(rows.map(({ seconds }, i) => first[i].seconds / seconds));
  printRow([variant[0], ...rows.map(formatTime), `${gain.toFixed(2)}x`]);
}
