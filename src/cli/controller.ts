/**
 * `preduce controller`: serve a run for workers on this or other machines.
 */
import type { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import { defaultCoreConfig } from '../core/config.js';
import { controller, type ControllerOptions } from '../controller/run-controller.js';
import { prepareRun } from '../launch/train.js';
import { createRunRecord } from '../observe/run-record.js';
import { wholeNumber } from './parse.js';
import { addRunFlags, type RunFlags, runOptionsOf } from './run-flags.js';
import { readToken } from './token.js';

interface ControllerFlags extends RunFlags {
  readonly bind: string;
  readonly port: number;
  readonly tokenFile?: string;
  readonly strategy?: string;
  readonly insecure?: boolean;
}

export function addControllerCommand(program: Command): void {
  const command = program
    .command('controller')
    .description('serve a run for workers on this or other machines')
    .option('--bind <address>', 'address to listen at', '127.0.0.1')
    .option('--port <port>', 'port to listen at, 0 for any free one', wholeNumber('--port'), 29400)
    .option('--token-file <file>', 'file with the token that workers must show')
    .option('--insecure', 'listen beyond this machine without a token')
    .option('--strategy <name>', 'partial-reduce (default) or all-reduce');
  addRunFlags(command)
    .addHelpText(
      'after',
      `
Without --workload it serves hand-written workers (joinRun), which bring their own data; it ends by --steps or --duration,
or when they have all finished. Training begins when --workers have joined.

Examples:
  preduce controller --workers 2 --steps 1000
  preduce controller --workload mnist-mlp --workers 4 --epochs 3 --bind 0.0.0.0 --token-file token.txt`,
    )
    .action(runController);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

async function controllerOptions(flags: ControllerFlags): Promise<ControllerOptions> {
  const token = await readToken(flags.tokenFile);
  if (!isLoopback(flags.bind) && token === null && flags.insecure !== true) {
    throw new PreduceError(
      'bad-option',
      `--bind ${flags.bind}: expected a --token-file beyond this machine, got none: make one, or pass --insecure in a network that you trust`,
    );
  }
  const address = { host: flags.bind, port: flags.port };
  const runOptions = { ...runOptionsOf(flags), ...(flags.strategy === undefined ? {} : { strategy: flags.strategy }) };
  if (flags.workload !== undefined) {
    const { core, training, durationMs, targetAccuracy } = await prepareRun(runOptions);
    return { core, config: training, durationMs, stopAtAccuracy: targetAccuracy, address, token };
  }
  const { workers, groupSize, filter, connectivityGroups, steps, livenessMs, durationMs } = runOptions;
  const core = defaultCoreConfig({
    minWorkers: workers ?? 2,
    strategy: flags.strategy === 'all-reduce' ? 'all-reduce' : 'partial-reduce',
    ...(groupSize === undefined ? {} : { groupSize }),
    ...(filter === undefined ? {} : { filter }),
    ...(connectivityGroups === undefined ? {} : { connectivityGroups }),
    ...(livenessMs === undefined ? {} : { livenessMs }),
    maxLocalSteps: steps ?? null,
  });
  return { core, durationMs: durationMs ?? null, address, token };
}

async function runController(flags: ControllerFlags): Promise<void> {
  const options = await controllerOptions(flags);
  const record =
    flags.out === undefined
      ? null
      : await createRunRecord({ directory: flags.out, config: { ...options, token: undefined } });
  const say = (line: string): void => {
    if (flags.quiet !== true) process.stderr.write(`${line}\n`);
  };
  const running = await controller({
    ...options,
    onEvent(event) {
      record?.append(event);
      if (event.type === 'workerJoined') say(`worker ${event.worker} joined from ${event.hostname}`);
      else if (event.type === 'workerDead') say(`worker ${event.worker} is dead: ${event.reason}`);
      else if (event.type === 'workerLeft') say(`worker ${event.worker} left`);
      else if (event.type === 'started') say(`training begins with ${event.workers.length} workers`);
      else if (event.type === 'stopping') say(`stopping: ${event.reason}`);
      else if (event.type === 'fault' && event.kind === 'refused') say(`refused ${event.message}`);
      else if (event.type === 'runEnded')
        say(`the run has ended (${event.reason}) after ${event.localSteps} local steps`);
    },
  });
  say(`controller at ${running.url}, waiting for ${options.core.minWorkers ?? 2} workers`);
  let interrupts = 0;
  const interrupt = (): void => {
    interrupts += 1;
    if (interrupts > 1) process.exit(130);
    running.stop('interrupted');
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    await running.ended;
  } finally {
    await running.close();
    await record?.close();
  }
}
