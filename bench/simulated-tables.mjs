/**
 * Every strategy in virtual time, each at its own learning rate: of a grid, the one that is fastest to the target on a seed apart.
 * Log-normal noise on every iteration of 100 ms, a replica of 45 MB (ResNet-18), a noisy quadratic. Prints the tables of
 * docs/benchmarks.md, medians over the seeds. Needs `npm run build`.
 *
 *   node bench/simulated-tables.mjs [workers] [P] [seeds]
 */
import { simulate } from '../dist/sim/simulate.js';
import { STRATEGY_NAMES } from '../dist/core/strategies/strategies.js';

const [workers = 8, groupSize = 3, seeds = 3] = process.argv.slice(2).map(Number);
const LINKS = [
  ['10 Gbit/s', 1e10],
  ['1 Gbit/s', 1e9],
];
const LEVELS = [1, 3];
const RATES = [0.1, 0.2, 0.3, 0.4, 0.8];
const TARGET_LOSS = 0.005;
const STEPS_PER_WORKER = 300;
const TUNING_SEED = 1000;

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function printRow(cells) {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

/** A run that does not get there has no time: it is as slow as can be. */
function secondsOf(result) {
  return result.targetSeconds ?? Number.POSITIVE_INFINITY;
}

function play(setting, strategy, learningRate, seed) {
  return simulate({
    ...setting,
    strategy,
    learningRate,
    seed,
    workers,
    groupSize,
    noise: 0.3,
    steps: workers * STEPS_PER_WORKER,
    targetLoss: TARGET_LOSS,
    // As finely as time to target is to be told.
    evaluateEverySamples: 32 * workers,
  });
}

function measure(setting, strategy) {
  const tried = RATES.map((rate) => ({ rate, seconds: secondsOf(play(setting, strategy, rate, TUNING_SEED)) }));
  const { rate } = tried.reduce((best, each) => (each.seconds < best.seconds ? each : best));
  const results = Array.from({ length: seeds }, (_, i) => play(setting, strategy, rate, i + 1));
  const of = (take) => median(results.map(take));
  return {
    strategy,
    rate,
    seconds: of(secondsOf),
    updates: of((result) => result.updatesToTarget ?? Number.POSITIVE_INFINITY),
    idleShare: of((result) => result.idleShare),
    reduceShare: of((result) => result.reduceShare),
  };
}

function printTable([linkName, bitsPerSecond], level) {
  const rows = STRATEGY_NAMES.map((strategy) => measure({ bitsPerSecond, slow: [`hl:${level}`] }, strategy)).toSorted(
    (a, b) => a.seconds - b.seconds,
  );
  process.stdout.write(`\nN = ${workers}, P = ${groupSize}, \`hl:${level}\`, ${linkName}:\n\n`);
  printRow(['strategy', 'rate', 'time to target', 'updates', 'time per update', 'idle', 'in collectives']);
  printRow(Array.from({ length: 7 }, () => '---'));
  for (const { strategy, rate, seconds, updates, idleShare, reduceShare } of rows) {
    const isReached = Number.isFinite(seconds);
    printRow([
      strategy,
      rate,
      isReached ? `${seconds.toFixed(1)} s` : 'not reached',
      isReached ? updates : '',
      isReached ? `${((1000 * seconds) / updates).toFixed(0)} ms` : '',
      `${(100 * idleShare).toFixed(0)} %`,
      `${(100 * reduceShare).toFixed(0)} %`,
    ]);
  }
}

for (const link of LINKS) for (const level of LEVELS) printTable(link, level);
