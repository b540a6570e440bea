/**
 * Every strategy in virtual time, with 8 to 1,024 workers, each strategy at its own learning rate: the tables of
 * docs/simulated-tables.md on standard output, the curves of docs/simulated-curves.svg, and then the settings of
 * simulated-settings.mjs. Some 25 minutes on one core. Needs `npm run build`; `npm run bench:simulated` does all.
 *
 *   node bench/simulated-tables.mjs [workers,workers,...]
 */
import { writeCurves } from './simulated-curves.mjs';
import {
  formatPercent,
  formatTime,
  measure,
  others,
  partialReduces,
  play,
  printHead,
  printRow,
  tune,
} from './simulated-runs.mjs';
import { printSettings } from './simulated-settings.mjs';

const LEVELS = [1, 2, 3];
const FAST = { name: '10 Gbit/s', bitsPerSecond: 1e10 };
const SLOW = { name: '1 Gbit/s', bitsPerSecond: 1e9 };
const EVERYBODY = [
  'all-reduce',
  'local-sgd',
  'ad-psgd',
  'eager-reduce',
  'ps-bsp',
  'ps-asp',
  'ps-ssp',
  'ps-backup',
  'ps-hete',
];
const FLEETS = [
  { workers: 8, groupSizes: [2, 3, 5], compared: EVERYBODY, links: [FAST, SLOW], seeds: 9 },
  { workers: 32, groupSizes: [2, 3, 5, 9], compared: EVERYBODY, links: [FAST, SLOW], seeds: 5 },
  {
    workers: 128,
    groupSizes: [2, 3, 5, 9],
    compared: ['all-reduce', 'local-sgd', 'ad-psgd', 'eager-reduce', 'ps-asp', 'ps-hete'],
    links: [FAST, SLOW],
    seeds: 3,
  },
  {
    workers: 1024,
    groupSizes: [2, 3, 5, 9],
    compared: ['all-reduce', 'local-sgd', 'ad-psgd', 'ps-asp', 'ps-hete'],
    links: [FAST],
    seeds: 1,
  },
];
const HEAD = `# Simulated comparisons

\`\`\`
npm run bench:simulated
\`\`\`

Written by that command, which also draws [the curves](simulated-curves.svg); some 25 minutes on one core, and the same figures
each time. What they mean, and how far to trust them, is in [benchmarks.md](benchmarks.md). Iterations of 100 ms with log-normal noise (sigma .3, but where
a setting says otherwise), a replica of 45 MB, one parameter server for every eight workers, a small network with momentum .9,
batches of 16, 300 steps a worker at most. Time until the mean replica's loss is .25; each strategy at the fastest of six learning rates (.05 to
1.6) on a seed apart; geometric means of 9 seeds with 8 workers, 5 with 32, 3 with 128 and 1 with 1,024. "Over ... (2 never)": two of them did not get
there and count with the time that they took.
`;
/** In the picture: what a reader wants to see beside the best of partial reduce. */
const DRAWN = ['all-reduce', 'local-sgd', 'ad-psgd', 'ps-hete'];
const DRAWN_LEVEL = 3;

function printTable(title, rows) {
  const reference = rows.find(({ name }) => name === 'all-reduce').seconds;
  process.stdout.write(`\n### ${title}\n\n`);
  printHead([
    'strategy',
    'rate',
    'time to target',
    'against all-reduce',
    'updates',
    'per update',
    'idle',
    'in collectives',
  ]);
  for (const row of rows) {
    const { name, rate, seconds, updates, idleShare, reduceShare } = row;
    printRow([
      name,
      rate,
      formatTime(row),
      `${(reference / seconds).toFixed(2)}x`,
      updates.toFixed(0),
      `${((1000 * seconds) / updates).toFixed(1)} ms`,
      formatPercent(idleShare),
      formatPercent(reduceShare),
    ]);
  }
}

/** For the best of partial reduce, the best of the others and all-reduce. */
function summaryOf({ workers, level, link }, rows) {
  const isOurs = ({ name }) => name.startsWith('partial-reduce');
  const ours = rows.find(isOurs);
  const best = rows.find((row) => !isOurs(row));
  const reference = rows.find(({ name }) => name === 'all-reduce');
  return [
    workers,
    `\`hl:${level}\``,
    link.name,
    `${formatTime(ours)} (${ours.name.replace('partial-reduce, ', '')})`,
    `${formatTime(best)} (${best.name})`,
    `${(best.seconds / ours.seconds).toFixed(2)}x`,
    `${(reference.seconds / ours.seconds).toFixed(2)}x`,
    rows.indexOf(ours) + 1,
  ];
}

/** Tables of one fleet; gives the lines of the summary, and the curves. */
function playFleet({ workers, groupSizes, compared, links, seeds }) {
  const summary = [];
  let panel = null;
  const contenders = [...partialReduces(groupSizes), ...others(compared)];
  for (const level of LEVELS) {
    const setting = { workers, slow: [`hl:${level}`] };
    // Rates are chosen with the fast link and kept for the slow one.
    const rates = contenders.map((contender) => tune({ ...setting, ...links[0] }, contender));
    for (const link of links) {
      const rows = contenders
        .map((contender, i) => measure({ ...setting, ...link }, contender, { rate: rates[i], seeds }))
        .toSorted((a, b) => a.seconds - b.seconds);
      printTable(`N = ${workers}, \`hl:${level}\`, ${link.name}`, rows);
      summary.push(summaryOf({ workers, level, link }, rows));
      if (level !== DRAWN_LEVEL || link !== FAST) continue;
      const ours = rows.find(({ name }) => name.startsWith('partial-reduce')).name;
      const curves = [ours, ...DRAWN].map((name) => {
        const i = contenders.findIndex((contender) => contender.name === name);
        const { curve } = play({ ...setting, ...link }, contenders[i], { rate: rates[i], seed: 1 });
        return { name, points: curve.slice(0, -1).map(({ timeMs, loss }) => [timeMs / 1000, loss]) };
      });
      panel = { title: `N = ${workers}`, curves };
    }
  }
  return { summary, panel };
}

process.stdout.write(HEAD);
const chosen = process.argv[2]?.split(',').map(Number) ?? FLEETS.map(({ workers }) => workers);
process.stdout.write('\n## Every strategy\n');
const played = FLEETS.filter(({ workers }) => chosen.includes(workers)).map(playFleet);
process.stdout.write('\n## Partial reduce and the best of the others\n\n');
printHead([
  'N',
  'devices',
  'link',
  'partial-reduce, the best',
  'the best other',
  'gain over it',
  'gain over all-reduce',
  'place',
]);
for (const { summary } of played) for (const line of summary) printRow(line);
writeCurves(
  new URL('../docs/simulated-curves.svg', import.meta.url),
  played.map(({ panel }) => panel),
);
printSettings();
