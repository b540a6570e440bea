/**
 * `preduce worker`: join a run, train until it ends.
 */
import type { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import { followParent } from '../launch/child-process.js';
import { parseTrainingConfig } from '../training/config.js';
import { saveLostReplica } from '../training/lost-replica.js';
import { trainWorker } from '../training/loop.js';
import { findWorkload } from '../training/workload.js';
import { connectWorker } from '../worker/worker-run.js';
import { addControllerFlags, type ControllerFlags, controllerOf } from './controller-flags.js';
import { addConfigFlag, SOURCES_HELP } from './option-sources.js';
import { durationOrNever, path, workerNumber } from './parse.js';

interface WorkerFlags extends ControllerFlags {
  readonly data?: string;
  readonly worker?: number;
  readonly checkpointDir?: string;
  readonly controllerTimeout?: number | 'never';
  readonly saveDir: string;
}

export function addWorkerCommand(program: Command): void {
  const command = program.command('worker').description('join a run and train until it ends');
  addControllerFlags(addConfigFlag(command))
    .option('--data <dir>', 'where the data lies on this machine (default: as the run says)', path('--data'))
    .option('--worker <number>', 'number to ask for (default: the next free one)', workerNumber('--worker'))
    .option(
      '--checkpoint-dir <dir>',
      "the run's checkpoints, where this worker keeps its part of them (default: it keeps none)",
      path('--checkpoint-dir'),
    )
    .option(
      '--controller-timeout <time>',
      'how long to go on alone while the controller is gone, or never to stop (default: 120 liveness time-outs, 10m)',
      durationOrNever('--controller-timeout'),
    )
    .option('--save-dir <dir>', 'where the replica is saved when the controller stays gone', path('--save-dir'), '.')
    .addHelpText(
      'after',
      `${SOURCES_HELP}
Examples:
  preduce worker --controller ws://127.0.0.1:29400
  preduce worker --controller wss://10.0.0.1:29400 \\
    --token-file token.txt --tls-ca ca.pem
  preduce worker --config worker.yaml   options from a file`,
    )
    .action(runWorker);
}

async function runWorker(flags: WorkerFlags): Promise<void> {
  followParent();
  const leave = new AbortController();
  const leaveOnce = (): void => leave.abort();
  process.once('SIGTERM', leaveOnce);
  if (process.channel === undefined) process.once('SIGINT', leaveOnce);

  for (;;) {
    try {
      return await trainOnce(flags, leave.signal);
    } catch (error) {
      const mayRejoin = error instanceof PreduceError && error.code === 'run-ended' && error.retryable;
      if (!mayRejoin || leave.signal.aborted) throw error;
      process.stderr.write(`${error.message}; joining anew\n`);
    }
  }
}

/** One life: from the join to the end of the run, or of this worker's part in it. */
async function trainOnce(flags: WorkerFlags, leave: AbortSignal): Promise<void> {
  const { controllerTimeout } = flags;
  const connected = await connectWorker({
    ...(await controllerOf(flags)),
    ...(controllerTimeout === undefined ? {} : { controllerTimeoutMs: controllerTimeout }),
  });
  try {
    const config = parseTrainingConfig(connected.config);
    const workload = findWorkload(config.workload);
    const { train } = await workload.loadData(flags.data ?? config.dataDirectory);
    const model = await workload.createModel({ seed: config.seed, threads: config.threads });
    let number = 0;
    const training = trainWorker({
      connected,
      config,
      model,
      train,
      worker: flags.worker ?? null,
      checkpointDirectory: flags.checkpointDir ?? null,
      leave,
      onJoined: (worker) => {
        number = worker;
      },
    });
    try {
      await training;
    } catch (error) {
      if (!(error instanceof PreduceError) || error.code !== 'controller-lost') throw error;
      const replica = { runId: connected.runId, worker: number, model, workload: config.workload };
      throw await saveLostReplica(error, replica, flags.saveDir);
    }
    await model.release();
  } finally {
    await connected.terminate();
  }
}
