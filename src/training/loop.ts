/**
 * A worker's training loop (algorithms.md 2): lease, batch, gradient, the emulated device's time, exchange.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PreduceError } from '../base/errors.js';
import { strategies } from '../core/strategies/strategies.js';
import { createBatchSource } from '../data/batch-source.js';
import type { Dataset } from '../data/dataset.js';
import type { Model } from '../engine/model.js';
import type { ConnectedWorker, JoinOptions, WorkerRun } from '../worker/worker-run.js';
import { batchSeed } from './batch-seed.js';
import { createCheckpointWriter, NO_LEASE, takeUpReplica } from './checkpoint-worker.js';
import type { TrainingConfig } from './config.js';
import { createOptimizer } from './create-optimizer.js';
import { createLocalRound } from './local-round.js';
import { replicaChecksum } from './replica-checksum.js';
import { createReplicaRule, type Replica, type ReplicaRule } from './replica-rule.js';
import { createSchedule } from './schedule.js';
import { createStepExchange } from './step-exchange.js';
import { createDeviceClock, type DeviceClock, parseSlowDown } from './slow-down.js';

export interface TrainWorkerOptions {
  readonly connected: ConnectedWorker;
  readonly config: TrainingConfig;
  readonly model: Model;
  readonly train: Dataset;
  /** Number to ask for; null: the next free one. */
  readonly worker: number | null;
  /** Where this worker keeps its parts of checkpoints; null (default): it keeps none. */
  readonly checkpointDirectory?: string | null;
  /** Called once it has its number. */
  readonly onJoined?: (worker: number) => void;
  /** Fires when this worker shall leave (SIGTERM): after its current exchange. */
  readonly leave: AbortSignal;
}

/**
 * Joins the run and trains until it ends; the model then holds the final average. Resolves when the controller has let
 * this worker go. Throws `bad-config` where the run goes on from a checkpoint and this worker has no directory of them.
 */
export async function trainWorker(options: TrainWorkerOptions): Promise<void> {
  const { connected, config, model } = options;
  const { parameters, auxiliary } = model;
  const replica: Replica = { parameters, auxiliary, optimizer: createOptimizer(parameters.length, config), k: 0 };
  const strategy = strategies[config.strategy];
  const stepsPerRound = config.strategy === 'local-sgd' ? config.localSteps : 1;
  const schedule = createSchedule(config.schedule);
  /** The rate of a step that brings the run to `samples`. */
  const learningRate = (samples: number): number => config.learningRate * schedule(samples);
  const rule = createReplicaRule(replica, {
    exchanges: strategy.replica.exchanges,
    usesServers: strategy.usesServers ?? false,
    averageOptimizer: config.averageOptimizer,
    addsUp: strategy.passive === 'everybody',
  });
  const directory = options.checkpointDirectory ?? null;
  const run = await connected.join({
    layout: [...model.layout, ...model.auxiliaryLayout],
    exchangeLength: rule.exchangeLength,
    stateLength: rule.stateLength,
    worker: options.worker,
    writeState: rule.writeState,
    readState: rule.readState,
    keepsCheckpoints: directory !== null,
    // A replica that misses rounds of gradients is not the run's any more.
    trainsAlone: strategy.replica.exchanges === 'replica',
    passive:
      strategy.passive === undefined
        ? null
        : {
            role: strategy.passive,
            applyRound: ({ average, k, progress }) =>
              rule.afterExchange({ average, k, finite: true }, learningRate(progress.samples)),
            writeFinal(into) {
              rule.writeReplica(into);
              run.log({ replicaChecksum: replicaChecksum(into) });
            },
          },
    ...restoring(options, replica, rule),
  });
  options.onJoined?.(run.worker);
  const checkpoints = createCheckpointWriter({ run, replica, model, directory });
  let position = NO_LEASE;
  const atRest = (): Promise<void> => exchanges.atPeace(() => checkpoints.atRest(position));

  const batches = createBatchSource({ dataset: options.train, batchSamples: config.batchSamples, seed: config.seed });
  const device = createDevice(config, run);
  const round = createLocalRound();
  const exchanges = createStepExchange({ run, replica, rule, learningRate }, strategy.passive ?? null);

  async function exchange(): Promise<void> {
    const { samples } = round;
    await exchanges.exchange(round);
    position = { lease: position.lease, processed: position.processed + samples };
  }

  let lease = await run.lease(null, atRest);
  while (lease !== null) {
    batches.open(lease);
    position = { lease, processed: 0 };
    while (!run.done) {
      if (options.leave.aborted) break;
      if (round.steps === 0 && run.checkpointRequest !== null) {
        await exchanges.atPeace(() => checkpoints.betweenSteps(position));
      }
      if (run.done) break;
      device.begin();
      const batch = batches.next();
      if (batch === null) break;
      const seed = batchSeed({ seed: config.seed, worker: run.worker, k: replica.k });
      const { loss, values } = await model.gradient({ ...batch, seed });
      const samples = run.progress.samples + round.samples + batch.count;
      exchanges.take(values, samples);
      round.add({ samples: batch.count, loss, ...(await device.end()) });
      if (round.steps >= stepsPerRound) await exchange();
    }
    // The lease or the run has ended within a round.
    if (round.steps > 0) await exchange();
    if (options.leave.aborted) return run.leave();
    if (!run.done) position = NO_LEASE;
    lease = run.done ? null : await run.lease(lease, atRest);
    if (options.leave.aborted) return run.leave();
  }
  await atRest();
  await exchanges.finish();
  await run.closed;
  // Not before the end: the final average is made again when a holder of it dies.
  rule.readReplica(run.output);
}

/** How a worker of a resumed run takes up what it had. */
function restoring(
  { config, model, checkpointDirectory }: TrainWorkerOptions,
  replica: Replica,
  rule: ReplicaRule,
): Pick<JoinOptions, 'restore'> {
  const { resumeFrom } = config;
  if (resumeFrom === undefined) return {};
  const directory = checkpointDirectory ?? null;
  if (directory === null) {
    throw new PreduceError(
      'bad-config',
      `this run goes on from checkpoint ${resumeFrom}: expected --checkpoint-dir with its files, got none`,
    );
  }
  return {
    restore: (worker) => takeUpReplica(replica, rule, { directory, checkpoint: resumeFrom, worker, config, model }),
  };
}

interface Device {
  begin(): void;
  /** Sleeps until the emulated device would be done. */
  end(): Promise<{ computeMs: number; paddingMs: number; overrun: boolean }>;
}

/** Overruns below this are the timer's, not the device's. */
const OVERRUN_TOLERANCE_MS = 1;

/** The device that this worker plays; at full speed where the run emulates none. */
function createDevice(config: TrainingConfig, run: WorkerRun): Device {
  const { referenceMs, workerCount, seed } = config;
  const clock: DeviceClock | null =
    referenceMs === null
      ? null
      : createDeviceClock(config.slow.map(parseSlowDown), { worker: run.worker, workerCount, referenceMs, seed });
  let startedMs = 0;
  return {
    begin() {
      startedMs = performance.now();
    },
    async end() {
      const usedMs = performance.now() - startedMs;
      if (clock === null) return { computeMs: usedMs, paddingMs: 0, overrun: false };
      const dueMs = clock();
      const paddingMs = Math.max(0, dueMs - usedMs);
      if (paddingMs > 0) await sleep(paddingMs);
      return {
        computeMs: performance.now() - startedMs,
        paddingMs,
        overrun: usedMs > dueMs + OVERRUN_TOLERANCE_MS,
      };
    },
  };
}
