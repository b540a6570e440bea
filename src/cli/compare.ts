/**
 * `preduce compare`: the same training once per strategy, a table and one report.
 */
import type { Command } from 'commander';
import type { ComparisonResult } from '../launch/comparison-output.js';
import { catchInterrupts, EXIT_INTERRUPTED } from './interrupts.js';
import { SOURCES_HELP } from './option-sources.js';
import { wholeNumber } from './parse.js';
import { createProgress, createSilence, type Progress } from './progress.js';
import { addRunFlags, type RunFlags, runOptionsOf } from './run-flags.js';
import { formatTable } from './table.js';

interface CompareFlags extends RunFlags {
  readonly strategies?: string;
  readonly repeat?: number;
}

export function addCompareCommand(program: Command): void {
  const command = program
    .command('compare')
    .description('train once per strategy, same seed, same emulated devices: a table and one report')
    .option('--strategies <a,b>', 'default: partial-reduce,partial-reduce:constant,all-reduce')
    .option('--repeat <r>', 'runs of each, interleaved; medians are reported (default: 1)', wholeNumber('--repeat'));
  addRunFlags(command, 'mnist-mlp')
    .addHelpText(
      'after',
      `${SOURCES_HELP}
Examples:
  preduce compare --slow straggler:3,4           one of four is 4 times slower
  preduce compare --slow hl:3 --workers 8 --group-size 3 --repeat 3
  preduce compare --strategies partial-reduce,all-reduce --json --quiet
  preduce compare --config run.yaml --repeat 3   options from a file`,
    )
    .action(runCompare);
}

async function runCompare(flags: CompareFlags): Promise<void> {
  const { compare } = await import('../launch/compare.js');
  const options = runOptionsOf(flags);
  const stream = process.stderr;
  const isQuiet = flags.quiet === true;
  // Until the first run there is nothing to draw, only lines.
  let progress: Progress = isQuiet
    ? createSilence()
    : { ...createSilence(), say: (line) => void stream.write(`compare: ${line}\n`) };
  const { signal, restore } = catchInterrupts((line) => progress.say(line));
  let result: ComparisonResult;
  try {
    result = await compare({
      ...options,
      ...(flags.strategies === undefined ? {} : { strategies: flags.strategies.split(',') }),
      ...(flags.repeat === undefined ? {} : { repeat: flags.repeat }),
      ...(flags.out === undefined ? {} : { out: flags.out }),
      signal,
      onPhase: (phase) => progress.say(phase),
      onRun(title) {
        progress.finish();
        progress = isQuiet ? createSilence() : createProgress({ label: title, stream });
      },
      onGoal: (goal) => progress.aim(goal),
      onEvent: (event, running) => progress.onEvent(event, running),
    });
    progress.finish();
  } finally {
    progress.stop();
    restore();
  }
  if (signal.aborted) process.exitCode = EXIT_INTERRUPTED;
  if (flags.json === true) process.stdout.write(`${JSON.stringify(result.entries.map((entry) => entry.summary))}\n`);
  else process.stdout.write(describeComparison(result, process.stdout.columns));
}

function percent(share: number | null, digits: number): string {
  return share === null ? '-' : `${(100 * share).toFixed(digits)} %`;
}

/** Where the widest table fits. */
const WIDE_COLUMNS = 90;

/** The table, and what it says in one sentence. `columns` of the terminal; a file takes all. */
export function describeComparison(result: ComparisonResult, columns = Number.POSITIVE_INFINITY): string {
  const target = `to ${percent(result.targetAccuracy, 1)}`;
  const baseline = result.entries.find((entry) => entry.label === 'all-reduce')?.summary.targetSeconds ?? null;
  const isWide = columns >= WIDE_COLUMNS;
  const rows = result.entries.map(({ label, summary }) => {
    const seconds = summary.targetSeconds;
    return [
      label,
      seconds === null ? 'never' : `${seconds.toFixed(1)} s`,
      seconds === null || baseline === null ? '-' : `${(baseline / seconds).toFixed(2)}x`,
      String(summary.updates),
      summary.updates === 0 ? '-' : ((1000 * summary.wallSeconds) / summary.updates).toFixed(1),
      percent(summary.testAccuracy, 2),
      percent(summary.idleShare, 0),
      ...(isWide ? [`${summary.wallSeconds.toFixed(1)} s`] : []),
    ];
  });
  const total = isWide ? ['total'] : [];
  const header = ['strategy', target, 'speed-up', 'updates', 'ms/update', 'accuracy', 'idle', ...total];
  const best = result.entries
    .filter((entry) => entry.label !== 'all-reduce' && entry.summary.targetSeconds !== null)
    .sort((a, b) => (a.summary.targetSeconds ?? 0) - (b.summary.targetSeconds ?? 0))[0];
  const bestSeconds = best?.summary.targetSeconds ?? null;
  const sentence =
    best === undefined || bestSeconds === null || baseline === null
      ? []
      : [
          `${best.label} reached ${percent(result.targetAccuracy, 1)} ${(baseline / bestSeconds).toFixed(2)}x as fast as all-reduce` +
            (result.referenceMs === null ? '.' : ` (if nobody ever waited: ${result.idealSpeedUp.toFixed(2)}x).`),
          '',
        ];
  return `\n${formatTable(header, rows)}\n\n${sentence.join('\n')}report  ${result.reportFile}\n`;
}
