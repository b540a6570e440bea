/**
 * `preduce compare`: the same training once per strategy, a table and one report.
 */
import type { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import type { CompareOptions } from '../launch/compare.js';
import { comparisonJson, type ComparisonResult } from '../launch/comparison-output.js';
import { defined } from './defined.js';
import { describeComparison, describeTuned } from './describe-comparison.js';
import { catchInterrupts, EXIT_INTERRUPTED } from './interrupts.js';
import { SOURCES_HELP } from './option-sources.js';
import { collect, wholeNumber } from './parse.js';
import { createProgress, createSilence, type Progress } from './progress.js';
import { addRunFlags, type RunFlags, runOptionsOf } from './run-flags.js';
import { simulateOptionsOf } from './simulate.js';
import { addMissingSimulationFlags, checkMeaning, simulationFlagsOf } from './simulation-flags.js';

interface CompareFlags extends RunFlags {
  readonly strategies?: string;
  readonly repeat?: number;
  readonly stopAtTarget?: boolean;
  readonly tune?: readonly number[];
  readonly tuned?: readonly string[];
  readonly simulate?: boolean;
}

export function addCompareCommand(program: Command): void {
  const command = program
    .command('compare')
    .description('train once per strategy, same seed, same emulated devices: a table and one report')
    .option(
      '--strategies <a,b>',
      'all, or a list, also of variants like eager-reduce:solo (default: partial-reduce, partial-reduce:constant, all-reduce)',
    )
    .option('--repeat <r>', 'runs of each, interleaved; medians are reported (default: 1)', wholeNumber('--repeat'))
    .option('--stop-at-target', 'end each run at the target accuracy: its accuracy is then that of this moment')
    .option(
      '--tune <lr=a,b>',
      'learning rates to try with each strategy first, on the seed 1000 further; the one soonest at the target is taken',
      learningRates,
    )
    .option(
      '--tuned <file>',
      'tuning.json of an earlier comparison: what it chose is not tuned anew; repeatable',
      collect,
    )
    .option('--simulate', 'in virtual time, with the flags of `preduce simulate`');
  addMissingSimulationFlags(addRunFlags(command, 'mnist-mlp'))
    .addHelpText(
      'after',
      `${SOURCES_HELP}
Examples:
  preduce compare --slow straggler:3,4           one of four is 4 times slower
  preduce compare --slow hl:3 --workers 8 --group-size 3 --repeat 3
  preduce compare --strategies all --tune lr=.03,.1,.3 --repeat 5
  preduce compare --strategies partial-reduce,all-reduce --json --quiet
  preduce compare --simulate --workers 128 --slow hl:3 --target-loss .01
  preduce compare --config run.yaml --repeat 3   options from a file`,
    )
    .action(runCompare);
}

/** The rates of `lr=.01,.03,.1`. Throws `bad-option`. */
export function learningRates(text: string): readonly number[] {
  const rates = /^lr=(.+)$/
    .exec(text.trim())?.[1]
    ?.split(',')
    .map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  if (rates === undefined || !rates.every(Number.isFinite)) {
    throw new PreduceError('bad-option', `--tune: expected learning rates like lr=.01,.03,.1, got "${text}"`);
  }
  return rates;
}

/** What is compared, and how often: the same for runs and simulations. */
function comparisonOptionsOf(flags: CompareFlags) {
  const { strategies, repeat, stopAtTarget, tune, tuned, out } = flags;
  return defined({ strategies: strategies?.split(','), repeat, stopAtTarget, tune, tuned, out });
}

async function runCompare(flags: CompareFlags, command: Command): Promise<void> {
  const isSimulated = flags.simulate === true;
  checkMeaning(command, isSimulated);
  const result = await (isSimulated ? simulateAll(flags, command) : trainAll(flags));
  if (flags.json === true) process.stdout.write(`${JSON.stringify(comparisonJson(result))}\n`);
  else process.stdout.write(describeComparison(result, process.stdout.columns));
}

async function simulateAll(flags: CompareFlags, command: Command): Promise<ComparisonResult> {
  const { compareSimulated } = await import('./compare-simulated.js');
  const say =
    flags.quiet === true ? () => undefined : (line: string) => void process.stderr.write(`compare: ${line}\n`);
  const { signal, restore } = catchInterrupts(say);
  try {
    return await compareSimulated({
      ...comparisonOptionsOf(flags),
      simulation: await simulateOptionsOf(simulationFlagsOf(command)),
      signal,
      onRun: say,
      onTuned: (tuned) => say(describeTuned(tuned)),
    });
  } finally {
    restore();
    if (signal.aborted) process.exitCode = EXIT_INTERRUPTED;
  }
}

async function trainAll(flags: CompareFlags): Promise<ComparisonResult> {
  const { compare } = await import('../launch/compare.js');
  const options: CompareOptions = { ...runOptionsOf(flags), ...comparisonOptionsOf(flags) };
  const stream = process.stderr;
  const isQuiet = flags.quiet === true;
  // Between runs there is nothing to draw, only lines.
  const lines: Progress = isQuiet
    ? createSilence()
    : { ...createSilence(), say: (line) => void stream.write(`compare: ${line}\n`) };
  let progress = lines;
  const { signal, restore } = catchInterrupts((line) => progress.say(line));
  try {
    const result = await compare({
      ...options,
      signal,
      onPhase: (phase) => progress.say(phase),
      onRun(title) {
        progress.finish();
        progress = isQuiet ? createSilence() : createProgress({ label: title, stream });
      },
      onTuned(tuned) {
        progress.finish();
        progress = lines;
        lines.say(describeTuned(tuned));
      },
      onGoal: (goal) => progress.aim(goal),
      onEvent: (event, running) => progress.onEvent(event, running),
    });
    progress.finish();
    return result;
  } finally {
    progress.stop();
    restore();
    if (signal.aborted) process.exitCode = EXIT_INTERRUPTED;
  }
}
