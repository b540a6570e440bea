/**
 * Which command a command line names. Commander answers a wrong name with the whole help where `--help` or `help` stands
 * beside it; here it is an error like any other.
 */
import { type Command, CommanderError } from 'commander';

/** `help bench collective` as `bench collective --help`. */
export function withoutHelpCommand(args: readonly string[]): readonly string[] {
  return args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : args;
}

/** The command that the first words name, as far as they name one. */
export function commandOf(program: Command, args: readonly string[]): Command {
  const child = program.commands.find((candidate) => candidate.name() === args[0]);
  return child === undefined ? program : commandOf(child, args.slice(1));
}

/** `preduce bench collective`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** Throws commander's error for an unknown command. */
export function checkCommand(program: Command, args: readonly string[]): void {
  const command = commandOf(program, args);
  const word = args[pathOf(command).split(' ').length - 1];
  if (command.commands.length === 0 || word === undefined || word.startsWith('-') || word === 'help') return;
  throw new CommanderError(1, 'commander.unknownCommand', `error: unknown command '${word}'`);
}
