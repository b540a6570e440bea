/**
 * `preduce bench`: what this machine's collectives cost.
 */
import type { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import { formatBytes, parseBytes } from '../base/units.js';
import { PLAN_NAMES } from '../collective/plan/plans.js';
import { benchCollective, type BenchResult, type BenchSubject } from '../launch/bench-collective.js';
import { catchInterrupts } from './interrupts.js';
import { oneOf, wholeNumber } from './parse.js';
import { formatTable } from './table.js';

interface CollectiveFlags {
  readonly bytes: number;
  readonly processes: readonly number[];
  readonly collective: BenchSubject;
  readonly repeat: number;
  readonly json?: boolean;
}

const PROCESSES_MAX = 64;
const SUBJECTS: readonly BenchSubject[] = [...PLAN_NAMES, 'both'];

function bytes(text: string): number {
  try {
    return parseBytes(text);
  } catch (error) {
    throw new PreduceError('bad-option', `--bytes: ${(error as Error).message}`);
  }
}

function processCounts(text: string): readonly number[] {
  return text.split(',').map((part) => {
    const count = wholeNumber('--processes')(part);
    if (count < 2 || count > PROCESSES_MAX) {
      throw new PreduceError('bad-option', `--processes: expected counts from 2 to ${PROCESSES_MAX}, got ${count}`);
    }
    return count;
  });
}

function repeats(text: string): number {
  const count = wholeNumber('--repeat')(text);
  if (count < 1) throw new PreduceError('bad-option', `--repeat: expected 1 or more, got ${count}`);
  return count;
}

export function addBenchCommand(program: Command): void {
  const bench = program.command('bench').description('measure what this machine can do');
  bench
    .command('collective')
    .description('time of one collective between local processes, copies in and out included')
    .option('--bytes <size>', "size of each member's replica", bytes, 45e6)
    .option('--processes <n,m>', 'members, several counts separated by commas', processCounts, [2])
    .option(
      '--collective <name>',
      'direct or ring, in each way to execute it; both: one against the other',
      oneOf('--collective', SUBJECTS),
      'direct',
    )
    .option('--repeat <r>', 'measured rounds of each variant, interleaved', repeats, 9)
    .option('--json', 'print one JSON array on stdout')
    .addHelpText(
      'after',
      `
Examples:
  preduce bench collective --bytes 45MB --processes 2,4
  preduce bench collective --bytes 1MB --repeat 50 --json
  preduce bench collective --collective both --processes 2,4,8
`,
    )
    .action(run);
}

async function run(flags: CollectiveFlags): Promise<void> {
  const { signal, restore } = catchInterrupts(() => undefined);
  const results: BenchResult[] = [];
  try {
    for (const processes of flags.processes) {
      const { bytes: size, collective: subject, repeat } = flags;
      results.push(...(await benchCollective({ bytes: size, subject, processes, repeats: repeat, signal })));
    }
  } finally {
    restore();
  }
  process.stdout.write(flags.json === true ? `${JSON.stringify(results)}\n` : describe(results));
}

function describe(results: readonly BenchResult[]): string {
  const header = ['variant', 'members', 'size', 'median', 'fastest', 'slowest', 'speed-up'];
  const rows = results.map((result) => [
    result.variant,
    String(result.processes),
    formatBytes(result.bytes),
    `${result.medianMs.toFixed(1)} ms`,
    `${result.minMs.toFixed(1)} ms`,
    `${result.maxMs.toFixed(1)} ms`,
    `${result.speedUp.toFixed(2)}x`,
  ]);
  return `${formatTable(header, rows)}\n`;
}
