/**
 * Is the simulator true? Real runs of partial-reduce and all-reduce on this machine, at two levels of heterogeneity; each is played
 * again from its record in virtual time (`preduce simulate --replay`), and what was predicted is held against what was measured. Beside
 * that, with no demand on it, each is predicted from the other's record. Ends with 1 where wall time, groups or time per update
 * are wrong by more than 15 %. Needs `npm run build`; about a minute. On a busy machine the emulated devices need more room:
 *
 *   node bench/replay-check.mjs [reference iteration in ms] [local steps]
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compare } from 'preduce';

const [referenceMs = 60, steps = 400] = process.argv.slice(2).map(Number);
const LEVELS = ['hl:1', 'hl:3'];
const STRATEGIES = ['partial-reduce', 'all-reduce'];
const ERROR_MAX = 0.15;
const COMMAND = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

function replay(directory, strategy) {
  const args = ['simulate', '--replay', directory, '--strategy', strategy, '--json'];
  return JSON.parse(execFileSync(process.execPath, [COMMAND, ...args], { encoding: 'utf8' }));
}

/** The directories of one real run of each strategy, on the same emulated devices. */
async function runAll(slow, out) {
  const { entries } = await compare({
    workload: 'mnist-mlp',
    strategies: STRATEGIES,
    workers: 4,
    groupSize: 2,
    slow: [slow],
    referenceMs,
    steps,
    out,
  });
  return new Map(entries.map(({ summary }) => [summary.strategy, summary.out]));
}

function percent(share) {
  return `${share < 0 ? '' : '+'}${(100 * share).toFixed(1)} %`;
}

function range({ stepsPerWorker }) {
  return `${Math.min(...stepsPerWorker)} to ${Math.max(...stepsPerWorker)}`;
}

function rowOf(slow, { strategy, recorded, predicted, errors }) {
  return {
    devices: slow,
    strategy,
    'wall time': `${recorded.wallSeconds.toFixed(2)} s`,
    predicted: `${predicted.wallSeconds.toFixed(2)} s`,
    error: percent(errors.wallSeconds),
    groups: recorded.groups,
    'groups predicted': predicted.groups,
    'per update': `${recorded.updateMs.toFixed(1)} ms (${percent(errors.updateMs)})`,
    'steps of a worker': `${range(recorded)}, predicted ${range(predicted)}`,
    waiting: `${(100 * recorded.idleShare).toFixed(1)} %, predicted ${(100 * predicted.idleShare).toFixed(1)} %`,
  };
}

/** What a record says of the other strategy, against that one's own. */
function otherRowOf(slow, { recordedStrategy, strategy, predicted }, { recorded }) {
  return {
    devices: slow,
    from: recordedStrategy,
    strategy,
    'wall time': `${recorded.wallSeconds.toFixed(2)} s`,
    predicted: `${predicted.wallSeconds.toFixed(2)} s`,
    error: percent(predicted.wallSeconds / recorded.wallSeconds - 1),
    'per update': `${recorded.updateMs.toFixed(1)} ms (${percent(predicted.updateMs / recorded.updateMs - 1)})`,
  };
}

/** In the pages' own form. */
function table(rows) {
  const header = Object.keys(rows[0]);
  return [header, header.map(() => '---'), ...rows.map(Object.values)]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

function print(...parts) {
  process.stdout.write(`${parts.join('\n\n')}\n`);
}

async function main() {
  const directory = await mkdtemp(join(tmpdir(), 'preduce-replay-'));
  const own = [];
  const others = [];
  let worst = 0;
  try {
    for (const slow of LEVELS) {
      const runs = await runAll(slow, join(directory, slow.replace(':', '-')));
      const replays = new Map(STRATEGIES.map((strategy) => [strategy, replay(runs.get(strategy), strategy)]));
      for (const [strategy, result] of replays) {
        own.push(rowOf(slow, result));
        worst = Math.max(worst, ...Object.values(result.errors).map(Math.abs));
        const other = STRATEGIES.find((each) => each !== strategy);
        others.push(otherRowOf(slow, replay(runs.get(strategy), other), replays.get(other)));
      }
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  print(
    `Played again, reference iteration ${referenceMs} ms, ${steps} local steps:`,
    table(own),
    "Predicted from the other strategy's record:",
    table(others),
    `Largest error of a run played again: ${(100 * worst).toFixed(1)} % (allowed: ${100 * ERROR_MAX} %)`,
  );
  if (!(worst <= ERROR_MAX)) process.exitCode = 1;
}

await main();
