/**
 * A worker's training loop (algorithms.md 2): lease, batch, gradient, the emulated device's time, exchange.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isFiniteVector } from '../base/finite.js';
import { strategies } from '../core/strategies/strategies.js';
import { createBatchSource } from '../data/batch-source.js';
import type { Dataset } from '../data/dataset.js';
import type { Model } from '../engine/model.js';
import { createSgd } from '../engine/optimizer.js';
import type { ConnectedWorker, WorkerRun } from '../worker/worker-run.js';
import type { TrainingConfig } from './config.js';
import { type Replica, replicaRule } from './replica-rule.js';
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

/** Joins the run and trains until it ends. Resolves when the controller has let this worker go. */
export async function trainWorker(options: TrainWorkerOptions): Promise<void> {
  const { connected, config, model } = options;
  const rule = replicaRule(strategies[config.strategy].replica.exchanges);
  const optimizer = createSgd(model.parameters.length, { momentum: config.momentum });
  const replica: Replica = { parameters: model.parameters, optimizer, k: 0 };
  const stateLength = rule.stateLength(replica);
  const count = model.parameters.length;
  const writeState = (into: Float32Array): void => {
    into.set(model.parameters);
    if (stateLength !== null) into.set(optimizer.state, count);
  };
  const run = await connected.join({
    layout: model.layout,
    stateLength,
    worker: options.worker,
    writeState,
    readState(from, k) {
      model.parameters.set(from.subarray(0, count));
      if (stateLength !== null) optimizer.state.set(from.subarray(count));
      replica.k = k;
    },
  });

  const batches = createBatchSource({ dataset: options.train, batchSamples: config.batchSamples, seed: config.seed });
  const device = createDevice(config, run);
  let lease = await run.lease(null);
  while (lease !== null) {
    batches.open(lease);
    while (!run.done) {
      if (options.leave.aborted) return run.leave();
      device.begin();
      const batch = batches.next();
      if (batch === null) break;
      const { loss, values } = await model.gradient(batch);
      rule.beforeExchange(replica, values, config.learningRate, run.input);
      const timing = await device.end();
      const outcome = await run.exchange({
        k: replica.k,
        finite: isFiniteVector(run.input),
        report: { samples: batch.count, loss: Number.isFinite(loss) ? loss : null, ...timing },
        writeState,
      });
      rule.afterExchange(replica, run.output, outcome.k, config.learningRate);
    }
    lease = run.done ? null : await run.lease(lease);
    if (options.leave.aborted) return run.leave();
  }
  run.input.set(model.parameters);
  await run.finish(replica.k, writeState);
  await run.closed;
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
