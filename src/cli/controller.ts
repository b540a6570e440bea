/**
 * `preduce controller`: serve a run for workers on this or other machines.
 */
import type { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import { flagOf } from '../base/flag-names.js';
import { isLoopback } from '../base/loopback.js';
import type { ServeOptions } from '../launch/serve.js';
import type { RunEvent } from '../observe/run-events.js';
import type { RunSummary } from '../observe/summary.js';
import { describeJoinedRun, describeRun } from './describe-run.js';
import { catchInterrupts, EXIT_INTERRUPTED } from './interrupts.js';
import { SOURCES_HELP } from './option-sources.js';
import { path, port } from './parse.js';
import { readTlsIdentity } from './pem-files.js';
import { createProgress, createSilence } from './progress.js';
import { addRunFlags, type RunFlags, runOptionsOf } from './run-flags.js';
import { readToken } from './token.js';

interface ControllerFlags extends RunFlags {
  readonly bind: string;
  readonly port: number;
  readonly tokenFile?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly strategy?: string;
  readonly state?: string;
  readonly insecure?: boolean;
}

export function addControllerCommand(program: Command): void {
  const command = program
    .command('controller')
    .description('serve a run for workers on this or other machines')
    .option('--bind <address>', 'address to listen at', '127.0.0.1')
    .option('--port <port>', 'port to listen at, 0 for any free one', port('--port'), 29400)
    .option('--token-file <file>', 'file with the token that workers must show', path('--token-file'))
    .option(
      '--tls-cert <file>',
      'certificate to encrypt with, in PEM (see preduce certs); workers use wss://',
      path('--tls-cert'),
    )
    .option('--tls-key <file>', 'its key, in PEM', path('--tls-key'))
    .option('--insecure', 'listen beyond this machine without a token, or without --tls-cert')
    .option(
      '--state <dir>',
      'write the run down here: the same command goes on with it after this process has died',
      path('--state'),
    )
    .option(
      '--strategy <name>',
      'partial-reduce (default), all-reduce, local-sgd, eager-reduce, ad-psgd, ps-bsp, ps-asp, ps-ssp, ps-backup or ps-hete',
    );
  addRunFlags(command)
    .addHelpText(
      'after',
      `
Training begins when --workers have joined. With --workload the run ends with
model and report in its directory on this machine. Without, it serves workers of
your own (joinRun), which bring their data and keep the model; it ends by
--steps or --duration, or when they have all finished.

With --state the run outlives this process: workers train on alone while it is
gone, and the same command, typed again, goes on with them. Ctrl-C still ends
the run; a termination (kill) leaves it to the next start.
${SOURCES_HELP}
Examples:
  preduce controller --workload mnist-mlp --workers 2
  preduce controller --workload mnist-mlp --bind 0.0.0.0 \\
    --token-file lab/token.txt --tls-cert lab/controller.pem \\
    --tls-key lab/controller-key.pem
  preduce controller --workload mnist-mlp --state lab/state
  preduce controller --config run.yaml --port 29500   options from a file
  preduce controller --workers 2 --steps 1000         for workers of your own`,
    )
    .action(runController);
}

/** Flags that speak of a workload: hand-written workers decide these things themselves. */
const WORKLOAD_FLAGS = [
  'data',
  'slow',
  'epochs',
  'targetAccuracy',
  'evaluateEvery',
  'batchSize',
  'leaseBatches',
  'lr',
  'schedule',
  'warmUp',
  'optimizer',
  'momentum',
  'nesterov',
  'weightDecay',
  'averageOptimizer',
  'threads',
] as const satisfies readonly (keyof RunFlags)[];

function checkFlags(flags: ControllerFlags, token: string | null, encrypts: boolean): void {
  const mustProtect = !isLoopback(flags.bind) && flags.insecure !== true;
  if (mustProtect && token === null) {
    throw new PreduceError(
      'bad-option',
      `--bind ${flags.bind}: expected a --token-file beyond this machine, got none: make one, or pass --insecure in a network that you trust`,
    );
  }
  if (mustProtect && !encrypts) {
    throw new PreduceError(
      'bad-option',
      `--bind ${flags.bind}: expected --tls-cert and --tls-key beyond this machine, as everybody on the way could read token and model, got none: make them with preduce certs, or pass --insecure in a network that you trust`,
    );
  }
  const idle = flags.workload === undefined ? WORKLOAD_FLAGS.find((name) => flags[name] !== undefined) : undefined;
  if (idle !== undefined) {
    throw new PreduceError('bad-option', `${flagOf(idle)}: expected a --workload beside it, got none`);
  }
}

/** What a controller tells beside what the display of every run does. */
function describeEvent(event: RunEvent): string | null {
  switch (event.type) {
    case 'workerJoined':
      return `worker ${event.worker} joined from ${event.hostname}`;
    case 'workerLeft':
      return `worker ${event.worker} left`;
    case 'runEnded':
      return `the run has ended (${event.reason}) after ${event.localSteps} local steps`;
    default:
      return null;
  }
}

async function runController(flags: ControllerFlags): Promise<void> {
  const token = await readToken(flags.tokenFile);
  const tls = await readTlsIdentity(flags);
  checkFlags(flags, token, tls !== null);
  const progress =
    flags.quiet === true ? createSilence() : createProgress({ label: 'controller', stream: process.stderr });
  const { signal, restore } = catchInterrupts((line) => progress.say(line), {
    leaving:
      flags.state === undefined
        ? null
        : `stopped; the run goes on: the same command, with --state ${flags.state}, takes it up again`,
  });
  const options: ServeOptions = {
    ...runOptionsOf(flags),
    ...(flags.strategy === undefined ? {} : { strategy: flags.strategy }),
    ...(flags.out === undefined ? {} : { out: flags.out }),
    ...(flags.state === undefined ? {} : { state: flags.state }),
    address: { host: flags.bind, port: flags.port },
    token,
    tls,
    signal,
    onPhase: (phase) => progress.say(phase),
    onGoal: (goal) => progress.aim(goal),
    onListening: ({ url, runId }, minWorkers) =>
      progress.say(
        minWorkers === null
          ? `listening at ${url}, going on with ${runId}`
          : `listening at ${url}, waiting for ${minWorkers} workers`,
      ),
    onEvent(event, running) {
      const line = describeEvent(event);
      if (line !== null) progress.say(line);
      progress.onEvent(event, running);
    },
  };
  let result: Served;
  try {
    result = await serveRun(flags, options);
  } finally {
    progress.stop();
    restore();
  }
  if (result.interrupted) process.exitCode = EXIT_INTERRUPTED;
  process.stdout.write(flags.json === true ? `${JSON.stringify(result.summary)}\n` : result.text);
}

interface Served {
  readonly text: string;
  readonly summary: RunSummary;
  readonly interrupted: boolean;
}

async function serveRun(flags: ControllerFlags, options: ServeOptions): Promise<Served> {
  const { serveJoined, serveTraining } = await import('../launch/serve.js');
  if (flags.workload !== undefined) {
    const result = await serveTraining(options);
    return { text: describeRun(result), summary: result.summary, interrupted: result.interrupted };
  }
  const { summary, interrupted } = await serveJoined(options);
  return { text: describeJoinedRun(summary, interrupted), summary, interrupted };
}
