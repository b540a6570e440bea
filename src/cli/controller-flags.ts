/**
 * How a process finds and enters a run that is served elsewhere.
 */
import type { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import { controllerUrl, path } from './parse.js';
import { readToken } from './token.js';

export interface ControllerFlags {
  readonly controller?: string;
  readonly tokenFile?: string;
}

export function addControllerFlags(command: Command): Command {
  return command
    .option(
      '--controller <url>',
      'address of the controller, like ws://host:29400 (default: PREDUCE_CONTROLLER)',
      controllerUrl('--controller'),
    )
    .option('--token-file <file>', "file that holds the run's token", path('--token-file'));
}

/** Throws `bad-option` where no controller is named. */
export async function controllerOf(
  flags: ControllerFlags,
): Promise<{ readonly controller: string; readonly token: string | null }> {
  if (flags.controller === undefined) {
    throw new PreduceError(
      'bad-option',
      "--controller: expected the controller's address, got none: pass --controller ws://host:29400 or set PREDUCE_CONTROLLER",
    );
  }
  return { controller: flags.controller, token: await readToken(flags.tokenFile) };
}
