/**
 * Theory against practice: rho of a run's last 1000 groups (docs/algorithms.md 5) beside (N - P) / (N - 1), that of groups drawn
 * uniformly. Simulated, N = 8, free communication, log-normal noise on every iteration. Prints the tables of docs/algorithms.md 5.1.
 * Needs `npm run build`.
 *
 *   node bench/rho.mjs [seeds] [iterations of each worker]
 */
import { simulate } from '../dist/sim/simulate.js';

const [seeds = 5, iterations = 400] = process.argv.slice(2).map(Number);
const WORKERS = 8;
const FREE = { latencyMs: 0, bitsPerSecond: Number.POSITIVE_INFINITY };
/** Filter, and weights. */
const WAYS = [
  ['epoch', 'constant'],
  ['window', 'constant'],
  ['none', 'constant'],
  ['epoch', 'dynamic'],
];

/** Mean over the seeds. */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function printRow(cells) {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

function rhoOf(options) {
  const results = Array.from({ length: seeds }, (_, i) =>
    simulate({ ...FREE, workers: WORKERS, noise: 0.2, steps: WORKERS * iterations, seed: i + 1, ...options }),
  );
  return mean(results.map(({ rho }) => rho)).toFixed(3);
}

function printMeasured() {
  printRow(['P', 'slow', '(N - P) / (N - 1)', ...WAYS.map((way) => way.join(', '))]);
  printRow(['---', '---', '---', ...WAYS.map(() => '---')]);
  for (const groupSize of [2, 3, 5]) {
    for (const level of [1, 2, 3]) {
      const measured = WAYS.map(([filter, weights]) => rhoOf({ groupSize, slow: [`hl:${level}`], filter, weights }));
      const uniform = ((WORKERS - groupSize) / (WORKERS - 1)).toFixed(3);
      printRow([groupSize, `hl:${level}`, uniform, ...measured]);
    }
  }
}

/** Four equal workers without noise come as (0,1),(2,3) for ever; each has an optimum of its own, a standard deviation apart. */
function printCrafted() {
  process.stdout.write('\n');
  printRow(['filter', 'rho', 'distance of the replicas from their mean']);
  printRow(['---', '---', '---']);
  for (const filter of ['none', 'epoch', 'window']) {
    const crafted = {
      ...FREE,
      workers: 4,
      groupSize: 2,
      weights: 'constant',
      spread: 1,
      gradientNoise: 0,
      steps: 2000,
    };
    const { rho, replicaDistance } = simulate({ ...crafted, filter });
    printRow([filter, rho.toFixed(3), replicaDistance.toFixed(3)]);
  }
}

printMeasured();
printCrafted();
