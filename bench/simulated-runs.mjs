/**
 * Runs in virtual time for simulated-tables.mjs: who is compared, at which learning rate, and what is told of it. Every iteration of
 * 100 ms has log-normal noise; a replica is 45 MB (ResNet-18); what is trained is the small network of `preduce simulate`.
 */
import { simulate } from '../dist/sim/simulate.js';

export const TARGET_LOSS = 0.25;
const BATCH_SAMPLES = 16;
const STEPS_PER_WORKER = 300;
/** Its problem, and all that is drawn, are other ones than those of the seeds that are reported. */
const TUNING_SEED = 1000;
const RATES = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6];
const FIRST_RATE = 0.4;

/** Partial reduce with each of these group sizes, constant weights, and once with dynamic ones. */
export function partialReduces(groupSizes, dynamicSize = 3) {
  return [
    ...groupSizes.map((groupSize) => ({
      name: `partial-reduce, P = ${groupSize}`,
      options: { strategy: 'partial-reduce', groupSize, weights: 'constant' },
    })),
    {
      name: `partial-reduce, P = ${dynamicSize}, dynamic`,
      options: { strategy: 'partial-reduce', groupSize: dynamicSize, weights: 'dynamic' },
    },
  ];
}

export function others(names) {
  return names.map((strategy) => ({ name: strategy, options: { strategy } }));
}

/** One run; `setting` is of `simulate`'s options, `workers` among them. */
export function play(setting, { options }, { rate, seed, ...rest }) {
  const { workers } = setting;
  return simulate({
    noise: 0.3,
    problem: 'network',
    batchSamples: BATCH_SAMPLES,
    // As many as workers want: one of them would be everybody's bottleneck.
    servers: Math.max(1, workers / 8),
    ...setting,
    ...options,
    ...rest,
    learningRate: rate,
    seed,
    steps: workers * STEPS_PER_WORKER,
    targetLoss: TARGET_LOSS,
    evaluateEverySamples: BATCH_SAMPLES * workers,
  });
}

/** A run that does not get there is as slow as can be. */
function secondsOf({ targetSeconds }) {
  return targetSeconds ?? Number.POSITIVE_INFINITY;
}

/** The fastest rate of the grid: uphill from its middle, each run no longer than the best before. */
export function tune(setting, contender) {
  const tried = new Map();
  const secondsAt = (index) => {
    const known = tried.get(index);
    if (known !== undefined || RATES[index] === undefined) return known ?? Number.POSITIVE_INFINITY;
    const best = Math.min(...tried.values());
    const limit = Number.isFinite(best) ? { durationMs: 1000 * best } : {};
    const seconds = secondsOf(play(setting, contender, { rate: RATES[index], seed: TUNING_SEED, ...limit }));
    tried.set(index, seconds);
    return seconds;
  };
  let index = RATES.indexOf(FIRST_RATE);
  for (const way of [1, -1]) while (secondsAt(index + way) < secondsAt(index)) index += way;
  // Nothing at the first rate and its neighbours: what is lower may still converge.
  while (!Number.isFinite(secondsAt(index)) && index > 0) index -= 1;
  return RATES[index];
}

export function geometricMean(values) {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/**
 * Geometric means over seeds 1 to `seeds`: every contender meets the same problems and the same fleets, so that their ratio is the
 * mean of the seeds' ratios, however unequal the problems are. A run that did not reach the target counts with the time that it took.
 */
export function measure(setting, contender, { rate, seeds }) {
  const results = Array.from({ length: seeds }, (_, i) => play(setting, contender, { rate, seed: i + 1 }));
  const meanOf = (take) => results.reduce((sum, result) => sum + take(result), 0) / seeds;
  const seconds = geometricMean(results.map((result) => result.targetSeconds ?? result.wallSeconds));
  const updates = geometricMean(results.map((result) => result.updatesToTarget ?? result.updates));
  return {
    name: contender.name,
    rate,
    seconds,
    updates,
    missed: results.filter(({ targetSeconds }) => targetSeconds === null).length,
    idleShare: meanOf((result) => result.idleShare),
    reduceShare: meanOf((result) => result.reduceShare),
  };
}

export function printRow(cells) {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

export function printHead(cells) {
  printRow(cells);
  printRow(cells.map(() => '---'));
}

/** Of a row; `over` where runs that did not reach the target are among those that it is the mean of. */
export function formatTime({ seconds, missed }) {
  const time = formatSeconds(seconds);
  return missed === 0 ? time : `over ${time} (${missed} never)`;
}

function formatSeconds(seconds) {
  return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
}

export function formatPercent(share) {
  return `${(100 * share).toFixed(0)} %`;
}
