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
import { checkCommand, commandOf, pathOf, withoutHelpCommand } from './command-path.js';
import { addCertsCommand } from './certs.js';
import { addControllerCommand } from './controller.js';
import { EXIT_INTERRUPTED } from './interrupts.js';
import { applySources, unknownVariables } from './option-sources.js';
import { addReportCommand } from './report.js';
import { addSimulateCommand } from './simulate.js';
import { addServerCommand } from './server.js';
import { addTrainCommand } from './train.js';
import { usageMessage } from './usage-message.js';
import { addWorkerCommand } from './worker.js';
import { addWorkloadsCommand } from './workloads.js';

/** Errors of usage: what was typed, not what happened. */
const USAGE_ERRORS: ReadonlySet<ErrorCode> = new Set(['bad-option', 'bad-config']);

/** The command that runs. */
let running: Command | null = null;

/** Before a command runs: options from elsewhere than the command line. */
async function completeOptions(program: Command, command: Command): Promise<void> {
  running = command;
  const isComplete = await applySources(command, process.env);
  const strange = isComplete ? unknownVariables(program, process.env) : null;
  if (strange !== null) process.stderr.write(`preduce: ${strange}\n`);
}

function createProgram(): Command {
  const program = new Command('preduce')
    .description('Train one model on machines of unequal speed, by partial reduce.')
    .version(packageVersion() ?? 'unknown')
    .showHelpAfterError(false)
    // Suggestions are made in `usageLine`, on the same line as the error.
    .showSuggestionAfterError(false)
    .configureOutput({ outputError: () => undefined })
    .hook('preAction', completeOptions)
    .addHelpText(
      'after',
      `
Examples:
  preduce train --workers 4 --slow straggler:3,4   one of four is 4 times slower
  preduce compare --slow straggler:3,4             the same beside all-reduce
  preduce train --config run.yaml                  options from a file
  preduce train --help                             all options of a command`,
    );
  addTrainCommand(program);
  addCompareCommand(program);
  addSimulateCommand(program);
  addReportCommand(program);
  addControllerCommand(program);
  addWorkerCommand(program);
  addServerCommand(program);
  addCertsCommand(program);
  addWorkloadsCommand(program);
  addBenchCommand(program);
  settleCommands(program);
  return program.exitOverride();
}

/** Sub-commands that exist already inherit nothing by themselves. */
function settleCommands(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent).exitOverride();
    settleCommands(command);
  }
}

/** Commander's message on one line, with the nearest known flag or command. */
function usageLine(error: CommanderError, program: Command): string {
  const line = error.message.replace(/^error: /, '').split('\n', 1)[0] ?? '';
  const typed = /unknown (?:option|command) '([^']+)'/.exec(line)?.[1];
  if (typed === undefined) return line;
  const command = commandOf(program, args);
  const known = typed.startsWith('-')
    ? command.options.map((option) => option.long ?? '')
    : command.commands.map((candidate) => candidate.name());
  const nearest = nearestName(typed, known);
  return `${line}${nearest === null ? '' : ` (did you mean ${nearest}?)`}; see \`${pathOf(command)} --help\``;
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
    const isUsage = USAGE_ERRORS.has(error.code);
    const message = isUsage ? usageMessage(error.message, running ?? program) : error.message;
    process.stderr.write(`preduce: ${message}\n`);
    if (running?.getOptionValue('debug') === true || process.argv.includes('--debug'))
      process.stderr.write(`${error.stack ?? ''}\n`);
    if (error.code === 'aborted') return EXIT_INTERRUPTED;
    return isUsage ? 2 : 1;
  }
  const stack = error instanceof Error ? error.stack : String(error);
  process.stderr.write(`preduce: a bug in preduce, please report it: ${stack ?? ''}\n`);
  return 1;
}

// A reader that has seen enough (`preduce train --help | head`) is no failure, and must not end a run.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}
const args = withoutHelpCommand(process.argv.slice(2));
const program = createProgram();
try {
  checkCommand(program, args);
  await program.parseAsync(args, { from: 'user' });
} catch (error) {
  process.exitCode = report(error, program);
}
