/**
 * Where partial reduce is first, and where another strategy is: eight workers, `hl:3`, 10 Gbit/s, and from there one thing changed at
 * a time, each strategy tuned anew. Part of simulated-tables.mjs; by itself: `node bench/simulated-settings.mjs`.
 */
import { formatTime, measure, others, partialReduces, printHead, printRow, tune } from './simulated-runs.mjs';

const SEEDS = 9;
const BASE = { workers: 8, slow: ['hl:3'], bitsPerSecond: 1e10 };
const CONTENDERS = [
  ...partialReduces([2, 3, 5]),
  ...others(['all-reduce', 'local-sgd', 'ad-psgd', 'eager-reduce', 'ps-asp', 'ps-hete']),
];

const SETTINGS = [
  ['as it is', {}],
  ['communication free', { bitsPerSecond: Number.POSITIVE_INFINITY, latencyMs: 0 }],
  ['100 Gbit/s', { bitsPerSecond: 1e11 }],
  ['2.5 Gbit/s', { bitsPerSecond: 2.5e9 }],
  ['1 Gbit/s', { bitsPerSecond: 1e9 }],
  ['100 MB (ResNet-50)', { modelBytes: 1e8 }],
  ['550 MB (VGG-19)', { modelBytes: 5.5e8 }],
  ['5 MB', { modelBytes: 5e6 }],
  ['a message takes 5 ms', { latencyMs: 5 }],
  ['a message takes 25 ms', { latencyMs: 25 }],
  ['8 parameter servers', { servers: 8 }],
  ['communication free, 8 servers', { bitsPerSecond: Number.POSITIVE_INFINITY, latencyMs: 0, servers: 8 }],
  ['4 workers to a host', { workersPerHost: 4 }],
  ['4 workers to a host, 2.5 Gbit/s', { workersPerHost: 4, bitsPerSecond: 2.5e9 }],
  ['all equally fast', { slow: [] }],
  ['all equally fast, communication free', { slow: [], bitsPerSecond: Number.POSITIVE_INFINITY, latencyMs: 0 }],
  ['one worker 4 times slower', { slow: ['straggler:7,4'] }],
  ['one worker 16 times slower', { slow: ['straggler:7,16'] }],
  ['half of them 3 times slower', { slow: ['straggler:4,3', 'straggler:5,3', 'straggler:6,3', 'straggler:7,3'] }],
  ['sleeps of 1 s now and then', { slow: ['random:.1,1'] }],
  ['noise of .02 instead of .3', { noise: 0.02 }],
  ['noise of .8', { noise: 0.8 }],
];

function compare(change) {
  const setting = { ...BASE, ...change };
  return CONTENDERS.map((contender) =>
    measure(setting, contender, { rate: tune(setting, contender), seeds: SEEDS }),
  ).toSorted((a, b) => a.seconds - b.seconds);
}

export function printSettings() {
  process.stdout.write('\n## Settings\n\n');
  printHead(['setting', 'first', 'second', 'third', 'partial-reduce, the best', 'all-reduce']);
  for (const [name, change] of SETTINGS) {
    const rows = compare(change);
    const cell = (row) => `${row.name} ${formatTime(row)}`;
    const ours = rows.find((row) => row.name.startsWith('partial-reduce'));
    const reference = rows.find((row) => row.name === 'all-reduce');
    printRow([name, ...rows.slice(0, 3).map(cell), cell(ours), formatTime(reference)]);
  }
}

if (import.meta.url === new URL(process.argv[1], 'file:').href) printSettings();
