/**
 * A worker's training loop (algorithms.md 2): lease, batch, gradient, the emulated device's time, exchange.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isFiniteVector } from '../base/finite.js';
import { strategies } from '../core/strategies/strategies.js';
import { createBatchSource } from '../data/batch-source.js';
import type { Dataset } from '../data/dataset.js';
import type { Model } from '../engine/model.js';
import type { ConnectedWorker, WorkerRun } from '../worker/worker-run.js';
import { batchSeed } from './batch-seed.js';
import type { TrainingConfig } from './config.js';
import { createOptimizer } from './create-optimizer.js';
import { createReplicaRule, type Replica } from './replica-rule.js';
import { createSchedule } from './schedule.js';
import { createDeviceClock, type DeviceClock, parseSlowDown } from './slow-down.js';

export interface TrainWorkerOptions {
  readonly connected: ConnectedWorker;
  readonly config: TrainingConfig;
  readonly model: Model;
  readonly train: Dataset;
  /** Number to ask for; null: the next free one. */
  readonly worker: number | null;
  /** Fires when this worker shall leave (SIGTERM): after its current exchange. */
  readonly leave: AbortSignal;
}

/**
 * Joins the run and trains until it ends; the model then holds the final average. Resolves when the controller has let
 * this worker go.
 */
export async function trainWorker(options: TrainWorkerOptions): Promise<void> {
  const { connected, config, model } = options;
  const { parameters, auxiliary } = model;
  const replica: Replica = { parameters, auxiliary, optimizer: createOptimizer(parameters.length, config), k: 0 };
  const rule = createReplicaRule(replica, {
    exchanges: strategies[config.strategy].replica.exchanges,
    averageOptimizer: config.averageOptimizer,
  });
  const run = await connected.join({
    layout: [...model.layout, ...model.auxiliaryLayout],
    exchangeLength: rule.exchangeLength,
    stateLength: rule.stateLength,
    worker: options.worker,
    writeState: rule.writeState,
    readState: rule.readState,
  });

  const batches = createBatchSource({ dataset: options.train, batchSamples: config.batchSamples, seed: config.seed });
  const device = createDevice(config, run);
  const schedule = createSchedule(config.schedule);
  /** The rate of a step that brings the run to `samples`. */
  const learningRate = (samples: number): number => config.learningRate * schedule(samples);
  let lease = await run.lease(null);
  while (lease !== null) {
    batches.open(lease);
    while (!run.done) {
      if (options.leave.aborted) return run.leave();
      device.begin();
      const batch = batches.next();
      if (batch === null) break;
      const seed = batchSeed({ seed: config.seed, worker: run.worker, k: replica.k });
      const { loss, values } = await model.gradient({ ...batch, seed });
      rule.beforeExchange(values, learningRate(run.progress.samples + batch.count), run.input);
      const timing = await device.end();
      const finite = isFiniteVector(run.input);
      const { k, progress } = await run.exchange({
        k: replica.k,
        finite,
        report: { samples: batch.count, loss: Number.isFinite(loss) ? loss : null, ...timing },
        writeState: rule.writeState,
      });
      rule.afterExchange({ average: run.output, k, finite }, learningRate(progress.samples));
    }
    lease = run.done ? null : await run.lease(lease);
    if (options.leave.aborted) return run.leave();
  }
  rule.writeReplica(run.input);
  await run.finish(replica.k, rule.writeState);
  await run.closed;
  // Not before the end: the final average is made again when a holder of it dies.
  rule.readReplica(run.output);
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
