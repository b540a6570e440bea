/**
 * `preduce server`: hold a part of the parameters of a run whose strategy has parameter servers.
 */
import type { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import { followParent } from '../launch/child-process.js';
import { runParameterServer } from '../training/parameter-server.js';
import { findWorkload } from '../training/workload.js';
import { addConfigFlag, SOURCES_HELP } from './option-sources.js';
import { controllerUrl, path } from './parse.js';
import { readToken } from './token.js';

interface ServerFlags {
  readonly controller?: string;
  readonly tokenFile?: string;
}

export function addServerCommand(program: Command): void {
  const command = program
    .command('server')
    .description(
      'hold a part of the parameters of a run, for the strategies ps-bsp, ps-asp, ps-ssp, ps-backup, ps-hete',
    );
  addConfigFlag(command)
    .option(
      '--controller <url>',
      'address of the controller, like ws://host:29400 (default: PREDUCE_CONTROLLER)',
      controllerUrl('--controller'),
    )
    .option('--token-file <file>', "file that holds the run's token", path('--token-file'))
    .addHelpText(
      'after',
      `
\`preduce train\` starts its servers itself. A run of \`preduce controller\` waits for as many as its --servers says.
${SOURCES_HELP}
Examples:
  preduce server --controller ws://127.0.0.1:29400
  preduce server --controller ws://10.0.0.1:29400 --token-file token.txt`,
    )
    .action(runServer);
}

async function runServer(flags: ServerFlags): Promise<void> {
  followParent();
  if (flags.controller === undefined) {
    throw new PreduceError(
      'bad-option',
      "--controller: expected the controller's address, got none: pass --controller ws://host:29400 or set PREDUCE_CONTROLLER",
    );
  }
  await runParameterServer({
    controller: flags.controller,
    token: await readToken(flags.tokenFile),
    async parameterCountOf({ workload, seed }) {
      const model = await findWorkload(workload).createModel({ seed, threads: 1 });
      const { length } = model.parameters;
      await model.release();
      return length;
    },
  });
}
