/**
 * `preduce server`: hold a part of the parameters of a run whose strategy has parameter servers.
 */
import type { Command } from 'commander';
import { followParent } from '../launch/child-process.js';
import { runParameterServer } from '../training/parameter-server.js';
import { findWorkload } from '../training/workload.js';
import { addControllerFlags, type ControllerFlags, controllerOf } from './controller-flags.js';
import { addConfigFlag, SOURCES_HELP } from './option-sources.js';
import { trustOf } from '../worker/trust.js';

export function addServerCommand(program: Command): void {
  const command = program
    .command('server')
    .description(
      'hold a part of the parameters of a run, for the strategies ps-bsp, ps-asp, ps-ssp, ps-backup, ps-hete',
    );
  addControllerFlags(addConfigFlag(command))
    .addHelpText(
      'after',
      `
\`preduce train\` starts its servers itself. A run of \`preduce controller\` waits
for as many as its --servers says.
${SOURCES_HELP}
Examples:
  preduce server --controller ws://127.0.0.1:29400
  preduce server --controller wss://10.0.0.1:29400 \\
    --token-file token.txt --tls-ca ca.pem`,
    )
    .action(runServer);
}

async function runServer(flags: ControllerFlags): Promise<void> {
  followParent();
  const { tlsCa, ...target } = await controllerOf(flags);
  await runParameterServer({
    ...target,
    trust: trustOf('authority', tlsCa),
    async parameterCountOf({ workload, seed }) {
      const model = await findWorkload(workload).createModel({ seed, threads: 1 });
      const { length } = model.parameters;
      await model.release();
      return length;
    },
  });
}
