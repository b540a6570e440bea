/**
 * Messages about options in the words of who typed them: with the flag, and with the file or variable that it stands in.
 */
import type { Command } from 'commander';
import { placeOf } from './option-sources.js';

/**
 * The rooms below call a setting by its name ("alpha: expected …", "unknown strategy …"), because programs set it, too;
 * here it gets the dashes of the command's flag of that name, and the place it stands in where that is not the command line.
 */
export function usageMessage(message: string, command: Command): string {
  const flags = command.options.map(({ long }) => long ?? '');
  const named = nameFlag(message, flags);
  const flag = /--[a-z][a-z-]*/.exec(named)?.[0];
  const place = flag === undefined ? null : placeOf(command, flag);
  return place === null ? named : `${named} (${place})`;
}

function nameFlag(message: string, flags: readonly string[]): string {
  const setting = /^([a-z][a-z ]*): /.exec(message)?.[1];
  if (setting !== undefined) {
    const flag = `--${setting.replaceAll(' ', '-')}`;
    return flags.includes(flag) ? `${flag}${message.slice(setting.length)}` : message;
  }
  const name = /^unknown ([a-z]+) "/.exec(message)?.[1];
  if (name === undefined) return message;
  const flag = [`--${name}`, `--${name.replace(/y$/, 'ie')}s`].find((each) => flags.includes(each));
  return flag === undefined ? message : `${flag}: ${message}`;
}
