/**
 * How a process finds and enters a run that is served elsewhere.
 */
import type { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import type { ConnectOptions } from '../worker/worker-run.js';
import { controllerUrl, path } from './parse.js';
import { readAuthority } from './pem-files.js';
import { readToken } from './token.js';

export interface ControllerFlags {
  readonly controller?: string;
  readonly tokenFile?: string;
  readonly tlsCa?: string;
  readonly insecure?: boolean;
}

export function addControllerFlags(command: Command): Command {
  return command
    .option(
      '--controller <url>',
      'address of the controller, like ws://host:29400 or wss://host:29400 (default: PREDUCE_CONTROLLER)',
      controllerUrl('--controller'),
    )
    .option('--token-file <file>', "file that holds the run's token", path('--token-file'))
    .option(
      '--tls-ca <file>',
      "certificate of the authority that signed the controller's, for wss:// (default: those that the system trusts)",
      path('--tls-ca'),
    )
    .option('--insecure', 'show the token even where others can read it, at a ws:// address beyond this machine');
}

/** Throws `bad-option` where no controller is named. */
export async function controllerOf(
  flags: ControllerFlags,
): Promise<
  Pick<ConnectOptions, 'controller' | 'insecure'> & { readonly token: string | null; readonly tlsCa: string | null }
> {
  if (flags.controller === undefined) {
    throw new PreduceError(
      'bad-option',
      "--controller: expected the controller's address, got none: pass --controller ws://host:29400 or set PREDUCE_CONTROLLER",
    );
  }
  const { protocol } = new URL(flags.controller);
  if (flags.tlsCa !== undefined && protocol !== 'wss:') {
    throw new PreduceError('bad-option', `--tls-ca: expected a wss:// address beside it, got ${flags.controller}`);
  }
  return {
    controller: flags.controller,
    token: await readToken(flags.tokenFile),
    tlsCa: await readAuthority(flags.tlsCa),
    insecure: flags.insecure ?? false,
  };
}
