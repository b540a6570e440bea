/**
 * `preduce simulate`: runs in virtual time, one strategy or several beside each other.
 */
import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { messageOf, PreduceError } from '../base/errors.js';
import { unknownNameMessage } from '../base/nearest.js';
import { formatBytes, formatDuration, parseBytes } from '../base/units.js';
import { COLLECTIVE_CHOICES, type CollectiveChoice, EAGER_RULES, type EagerRule } from '../core/config.js';
import type { GroupingOptions } from '../core/grouping-options.js';
import { STRATEGY_NAMES } from '../core/strategies/strategies.js';
import { parseTrace } from '../sim/compute-model.js';
import { PROBLEM_NAMES, type ProblemSource } from '../sim/problem.js';
import { simulate, type SimulationResult } from '../sim/simulate.js';
import type { SimulateOptions } from '../sim/simulate-options.js';
import { defined } from './defined.js';
import { addGroupingFlags, addServerFlags } from './grouping-flags.js';
import { addConfigFlag, SOURCES_HELP } from './option-sources.js';
import { collect, duration, oneOf, realNumber, wholeNumber } from './parse.js';
import { formatTable } from './table.js';

export interface SimulateFlags extends GroupingOptions {
  readonly strategy?: string;
  readonly strategies?: string;
  readonly workers?: number;
  readonly groupSize?: number;
  readonly localSteps?: number;
  readonly eager?: EagerRule;
  readonly servers?: number;
  readonly staleness?: number;
  readonly backups?: number;
  readonly collective?: CollectiveChoice;
  readonly compute?: number;
  readonly noise?: number;
  readonly slow?: readonly string[];
  readonly latency?: number;
  readonly controlLatency?: number;
  readonly bandwidth?: number;
  readonly workersPerHost?: number;
  readonly hostBandwidth?: number;
  readonly modelBytes?: number;
  readonly problem?: string;
  readonly data?: string;
  readonly dimension?: number;
  readonly gradientNoise?: number;
  readonly spread?: number;
  readonly lr?: number;
  readonly momentum?: number;
  readonly batchSize?: number;
  readonly steps?: number;
  readonly duration?: number;
  readonly targetLoss?: number;
  readonly targetAccuracy?: number;
  readonly evaluateEvery?: number;
  readonly seed?: number;
  readonly replay?: string;
  readonly json?: boolean;
}

export function addSimulateCommand(program: Command): void {
  const command = program
    .command('simulate')
    .description(
      'train small problems in virtual time: thousands of workers, no processes, the same result every time',
    );
  addSimulationFlags(addConfigFlag(command))
    .option(
      '--replay <directory>',
      'play the run recorded there again, and tell what was predicted and what measured; with --strategy another on its machines',
    )
    .option('--json', 'print one JSON object on stdout (with --strategies an array of them)')
    .addOption(new Option('--debug', 'show stack traces').hideHelp())
    .addHelpText(
      'after',
      `${SOURCES_HELP}
Examples:
  preduce simulate --workers 8 --group-size 3 --slow hl:3
  preduce simulate --strategies partial-reduce,all-reduce --slow hl:3 --noise .2
  preduce simulate --strategies ps-bsp,ps-asp,ps-ssp --servers 4 --staleness 5
  preduce simulate --workers 1024 --compute 80ms --bandwidth 1Gbit --noise .3
  preduce simulate --slow trace:times.csv --problem logistic --json
  preduce simulate --replay runs/mine --strategies partial-reduce,all-reduce`,
    )
    .action(runSimulate);
}

/** All that says what a simulation is of; `compare --simulate` has them, too. */
export function addSimulationFlags(command: Command): Command {
  return addTrainingFlags(addMachineFlags(addFleetFlags(command)));
}

function addFleetFlags(command: Command): Command {
  const sized = command
    .option('--strategy <name>', `one of ${STRATEGY_NAMES.join(', ')} (default: partial-reduce)`)
    .option('--strategies <a,b>', 'several instead, in one table; partial-reduce:constant is one, too')
    .option('--workers <n>', 'simulated workers (default: 8)', wholeNumber('--workers'))
    .option('--group-size <p>', 'workers of one partial reduce (default: 2)', wholeNumber('--group-size'))
    .option(
      '--local-steps <h>',
      'local steps between two averages of local-sgd (default: 8)',
      wholeNumber('--local-steps'),
    )
    .option('--eager <rule>', 'eager-reduce: majority (default) or solo begins a round', oneOf('--eager', EAGER_RULES));
  return addServerFlags(
    addGroupingFlags(sized).option(
      '--collective <plan>',
      'auto (default: by the size of a group), direct or ring',
      oneOf('--collective', COLLECTIVE_CHOICES),
    ),
  );
}

function addMachineFlags(command: Command): Command {
  return command
    .option('--compute <time>', 'an iteration of a worker that is not slow (default: 100ms)', duration('--compute'))
    .option('--noise <sigma>', 'log-normal noise on every iteration (default: 0)', realNumber('--noise'))
    .option(
      '--slow <spec>',
      'repeatable: hl:3, straggler:3,4, random:.1,100ms, lognormal:.5, trace:FILE (lines of [WORKER,]MILLISECONDS)',
      collect,
    )
    .option('--latency <time>', 'from worker to worker (default: 0.1ms)', duration('--latency'))
    .option(
      '--control-latency <time>',
      'to the controller, one way (default: as --latency)',
      duration('--control-latency'),
    )
    .option(
      '--bandwidth <rate>',
      "of each host's link, each way, or unlimited (default: 10Gbit)",
      bandwidth('--bandwidth'),
    )
    .option(
      '--workers-per-host <n>',
      "workers that share a host's link (default: 1)",
      wholeNumber('--workers-per-host'),
    )
    .option(
      '--host-bandwidth <rate>',
      'of what moves between workers of one host (default: unlimited)',
      bandwidth('--host-bandwidth'),
    )
    .option(
      '--model-bytes <size>',
      "what a collective averages (default: 45MB, a workload's own size)",
      size('--model-bytes'),
    );
}

function addTrainingFlags(command: Command): Command {
  return command
    .option(
      '--problem <name>',
      `what is trained: ${PROBLEM_NAMES.join(' (default), ')}, or a workload (see \`preduce workloads\`) with the engine's own gradients`,
    )
    .option('--data <dir>', "where a workload's data lies (default: what the package ships)")
    .option('--dimension <d>', 'parameters of the problem (default: 16)', wholeNumber('--dimension'))
    .option('--gradient-noise <s>', "of the quadratic, one sample's (default: 1)", realNumber('--gradient-noise'))
    .option('--spread <s>', "how far the workers' own quadratics lie apart (default: 0)", realNumber('--spread'))
    .option('--lr <g>', "learning rate (default: 0.1, logistic 0.5, a workload's own)", realNumber('--lr'))
    .option('--momentum <m>', "momentum of SGD (default: 0, network 0.9, a workload's own)", realNumber('--momentum'))
    .option(
      '--batch-size <m>',
      "samples of one local step (default: 32, a workload's own)",
      wholeNumber('--batch-size'),
    )
    .option('--steps <k>', 'local steps, all workers together (default: 200 for each)', wholeNumber('--steps'))
    .option('--duration <time>', 'virtual length of the run, like 60s', duration('--duration'))
    .option('--target-loss <l>', 'loss of the mean replica that ends the run', realNumber('--target-loss'))
    .option('--target-accuracy <a>', 'or its test accuracy, a share like .97', realNumber('--target-accuracy'))
    .option('--evaluate-every <samples>', 'samples between two evaluations', wholeNumber('--evaluate-every'))
    .option('--seed <s>', 'decides everything that is random (default: 1)', wholeNumber('--seed'));
}

const BITS_PER_UNIT: Readonly<Record<string, number>> = { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9, tbit: 1e12 };

/** Reads bits per second: `1Gbit`, `100 Mbit/s`, `unlimited`. Throws `bad-option`. */
function bandwidth(flag: string): (text: string) => number {
  return (text) => {
    if (text === 'unlimited') return Number.POSITIVE_INFINITY;
    const match = /^(\d+(?:\.\d+)?|\.\d+)\s*([kmgt]?bit)(?:\/s|ps)?$/i.exec(text.trim());
    const factor = BITS_PER_UNIT[match?.[2]?.toLowerCase() ?? ''];
    if (match === null || factor === undefined) {
      throw new PreduceError(
        'bad-option',
        `${flag}: expected a rate like 1Gbit or 100Mbit, or unlimited, got "${text}"`,
      );
    }
    return Number(match[1]) * factor;
  };
}

function size(flag: string): (text: string) => number {
  return (text) => {
    try {
      return parseBytes(text);
    } catch (error) {
      throw new PreduceError('bad-option', `${flag}: ${messageOf(error)}`);
    }
  };
}

/** Takes `trace:FILE` out of the slow-downs: only here files can be read. */
async function machinesOf(flags: SimulateFlags): Promise<Pick<SimulateOptions, 'slow' | 'trace'>> {
  const specs = flags.slow ?? [];
  const traces = specs.filter((spec) => spec.startsWith('trace:')).map((spec) => spec.slice('trace:'.length));
  const slow = specs.filter((spec) => !spec.startsWith('trace:'));
  const [file, another] = traces;
  if (file === undefined) return { slow };
  if (another !== undefined) {
    throw new PreduceError('bad-option', `--slow: expected one trace, got trace:${file} and trace:${another}`);
  }
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new PreduceError('bad-option', `--slow trace:${file}: cannot be read: ${messageOf(error)}`);
  });
  return { slow, trace: parseTrace(text, file) };
}

/** A workload is opened with its data and its engine; another problem is known by its name. */
async function problemOf(name: string | undefined, data: string | null): Promise<string | ProblemSource | undefined> {
  const { workloads } = await import('../training/workload.js');
  const isWorkload = workloads.some((workload) => workload.name === name);
  if (data !== null && !isWorkload) {
    throw new PreduceError('bad-option', `--data: expected a workload as --problem beside it, got ${name ?? 'none'}`);
  }
  if (name === undefined || PROBLEM_NAMES.some((known) => known === name)) return name;
  if (!isWorkload) {
    const known = [...PROBLEM_NAMES, ...workloads.map((workload) => workload.name)];
    throw new PreduceError('bad-option', unknownNameMessage('problem', name, known));
  }
  const { openWorkload } = await import('../sim/workload/open-workload.js');
  return openWorkload(name, data);
}

/** The simulation that the flags ask for, but for its strategies. Throws `bad-option`. */
export async function simulateOptionsOf(flags: SimulateFlags): Promise<SimulateOptions> {
  const { compute, latency, controlLatency, bandwidth: bits, hostBandwidth, lr, batchSize } = flags;
  const { duration: length, evaluateEvery } = flags;
  const { json: _json, replay: _replay, strategies: _strategies, slow: _slow, problem, data, ...same } = flags;
  return defined({
    ...same,
    ...(await machinesOf(flags)),
    problem: await problemOf(problem, data ?? null),
    computeMs: compute,
    latencyMs: latency,
    controlLatencyMs: controlLatency,
    bitsPerSecond: bits,
    hostBitsPerSecond: hostBandwidth,
    learningRate: lr,
    batchSamples: batchSize,
    durationMs: length,
    evaluateEverySamples: evaluateEvery,
  });
}

async function runSimulate(flags: SimulateFlags, command: Command): Promise<void> {
  if (flags.replay !== undefined) {
    const { runReplay } = await import('./simulate-replay.js');
    return runReplay(flags.replay, flags, command);
  }
  const options = await simulateOptionsOf(flags);
  if (flags.strategies === undefined) {
    const result = simulate(options);
    process.stdout.write(flags.json === true ? `${JSON.stringify(result)}\n` : describeSimulation(result));
    return;
  }
  const { parseContender } = await import('../launch/contenders.js');
  const contenders = flags.strategies.split(',').map((text) => parseContender(text.trim()));
  const entries = contenders.map(({ label, options: own }) => ({ label, result: simulate({ ...options, ...own }) }));
  if (flags.json === true) process.stdout.write(`${JSON.stringify(entries.map(({ result }) => result))}\n`);
  else process.stdout.write(describeSimulations(entries));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function lossText({ testLoss, testAccuracy }: SimulationResult): string {
  if (testLoss === null) return 'no model';
  return testLoss.toPrecision(3) + (testAccuracy === null ? '' : `, accuracy ${percent(testAccuracy)}`);
}

/** `loss 0.05`, `accuracy 96 %`; null: none. */
function targetText({ targetLoss, targetAccuracy }: SimulationResult): string | null {
  if (targetLoss !== null) return `loss ${targetLoss}`;
  return targetAccuracy === null ? null : `accuracy ${percent(targetAccuracy)}`;
}

/** The result of one simulation in a few lines. */
function describeSimulation(result: SimulationResult): string {
  const { strategy, workers, wallSeconds, targetSeconds, localSteps, updates, rho } = result;
  const target = targetText(result);
  const slowest = result.stepsPerWorker.reduce((least, steps) => Math.min(least, steps), Number.POSITIVE_INFINITY);
  const fastest = result.stepsPerWorker.reduce((most, steps) => Math.max(most, steps), 0);
  const lines = [
    `${strategy}, ${workers} workers: ${formatDuration(1000 * wallSeconds)} of virtual time, loss ${lossText(result)}`,
    `  ${localSteps} local steps (${slowest} to ${fastest} by each worker), ${updates} updates`,
    `  waiting ${percent(result.idleShare)} of the time, in collectives ${percent(result.reduceShare)}, ` +
      `held for connectivity ${percent(result.holdShare)}, ${formatBytes(result.bytesSent)} exchanged`,
    `  rho ${rho === null ? 'unknown' : rho.toFixed(4)}, distance of the replicas from their mean ${result.replicaDistance.toPrecision(3)}`,
    ...(target === null
      ? []
      : [
          `  target ${target} ${targetSeconds === null ? 'not reached' : `reached after ${targetSeconds.toFixed(1)} s`}`,
        ]),
    `  trace   ${result.traceHash} (${result.events} events)`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Several simulations in a table. */
function describeSimulations(
  entries: readonly { readonly label: string; readonly result: SimulationResult }[],
): string {
  const target = entries[0] === undefined ? null : targetText(entries[0].result);
  const baseline = entries.find(({ label }) => label === 'all-reduce')?.result.targetSeconds ?? null;
  const rows = entries.map(({ label, result }) => {
    const { targetSeconds, updates, wallSeconds, idleShare, reduceShare, localSteps } = result;
    return [
      label,
      ...(target === null
        ? []
        : [
            targetSeconds === null ? 'not reached' : `${targetSeconds.toFixed(1)} s`,
            targetSeconds === null || baseline === null ? '-' : `${(baseline / targetSeconds).toFixed(2)}x`,
          ]),
      lossText(result),
      String(updates),
      updates === 0 ? '-' : `${((1000 * wallSeconds) / updates).toFixed(1)} ms`,
      (localSteps / wallSeconds).toFixed(1),
      percent(idleShare),
      percent(reduceShare),
      `${wallSeconds.toFixed(1)} s`,
    ];
  });
  const header = [
    'strategy',
    ...(target === null ? [] : [`time to ${target}`, 'speed-up']),
    'loss',
    'updates',
    'per update',
    'steps/s',
    'waiting',
    'collectives',
    'total',
  ];
  return `\n${formatTable(header, rows)}\n`;
}
