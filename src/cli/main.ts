#!/usr/bin/env node
/**
 * The `preduce` command: one file per sub-command. Exit status 0, 1 (failed), 2 (bad usage) or 130 (interrupted); an error
 * is one line. Commands load what they need when they run, so that help and workers do not wait for the report's charts.
 */
import { Command, CommanderError } from 'commander';
import { type ErrorCode, PreduceError } from '../base/errors.js';
import { nearestName } from '../base/nearest.js';
import { packageVersion } from '../report/environment.js';
import { addBenchCommand } from './bench.js';
import { addCompareCommand } from './compare.js';
import { addControllerCommand } from './controller.js';
import { EXIT_INTERRUPTED } from './interrupts.js';
import { addReportCommand } from './report.js';
import { addTrainCommand } from './train.js';
import { addWorkerCommand } from './worker.js';
import { addWorkloadsCommand } from './workloads.js';

/** Errors of usage: what was typed, not what happened. */
const USAGE_ERRORS: ReadonlySet<ErrorCode> = new Set(['bad-option', 'bad-config']);

function createProgram(): Command {
  const program = new Command('preduce')
    .description('Train one model on machines of unequal speed, by partial reduce.')
    .version(packageVersion() ?? 'unknown')
    .showHelpAfterError(false)
    // Suggestions are made in `usageLine`, on the same line as the error.
    .showSuggestionAfterError(false)
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      `
Examples:
  preduce train --workers 4 --slow straggler:3,4     one of four workers is four times slower
  preduce compare --slow straggler:3,4               the same beside all-reduce, with a report
  preduce train --help                               all options of a command`,
    );
  addTrainCommand(program);
  addCompareCommand(program);
  addReportCommand(program);
  addControllerCommand(program);
  addWorkerCommand(program);
  addWorkloadsCommand(program);
  addBenchCommand(program);
  // Sub-commands inherit nothing of these by themselves.
  for (const command of program.commands) command.copyInheritedSettings(program).exitOverride();
  return program.exitOverride();
}

/** Commander's message on one line, with the nearest known flag or command. */
function usageLine(error: CommanderError, program: Command): string {
  const line = error.message.replace(/^error: /, '').split('\n', 1)[0] ?? '';
  const typed = /unknown (?:option|command) '([^']+)'/.exec(line)?.[1];
  if (typed === undefined) return line;
  const command = program.commands.find((candidate) => process.argv[2] === candidate.name()) ?? program;
  const known = typed.startsWith('-')
    ? command.options.map((option) => option.long ?? '')
    : program.commands.map((candidate) => candidate.name());
  const nearest = nearestName(typed, known);
  return `${line}${nearest === null ? '' : ` (did you mean ${nearest}?)`}; see \`preduce ${command === program ? '' : `${command.name()} `}--help\``;
}

/** Prints the error as one line; the exit status. */
function report(error: unknown, program: Command): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    if (error.code === 'commander.help') return 2;
    process.stderr.write(`preduce: ${usageLine(error, program)}\n`);
    return 2;
  }
  if (error instanceof PreduceError) {
    process.stderr.write(`preduce: ${error.message}\n`);
    if (process.argv.includes('--debug')) process.stderr.write(`${error.stack ?? ''}\n`);
    if (error.code === 'aborted') return EXIT_INTERRUPTED;
    return USAGE_ERRORS.has(error.code) ? 2 : 1;
  }
  const stack = error instanceof Error ? error.stack : String(error);
  process.stderr.write(`preduce: a bug in preduce, please report it: ${stack ?? ''}\n`);
  return 1;
}

const program = createProgram();
try {
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error, program);
}
