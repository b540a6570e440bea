/**
 * A run for workers that others start, on this or other machines: the controller in this process, and beside it, where
 * the run has a workload, the evaluator that measures its accuracy and saves its model.
 */
import type { TlsIdentity } from '../controller/control-server.js';
import { controller, type ControllerOptions, type RunningController } from '../controller/run-controller.js';
import type { CoreConfig } from '../core/config.js';
import type { RunEvent } from '../observe/run-events.js';
import { createRunRecord, RECORD_FILES } from '../observe/run-record.js';
import { createSummary, type RunSummary, summaryFactsOf } from '../observe/summary.js';
import type { Address } from '../wire/messages.js';
import { startEvaluator } from './evaluator.js';
import { goalOf } from './run-goal.js';
import { type RunOptions, resolveJoinedRun } from './run-options.js';
import { createRunOutput, type RunResult } from './run-output.js';
import {
  EXIT_GRACE_MS,
  evaluatorFailure,
  graceMs,
  interruptedBeforeStart,
  prepareRun,
  type TrainHooks,
  withReferenceTime,
} from './train.js';

export interface ServeOptions extends RunOptions, TrainHooks {
  readonly address: Address;
  /** What workers must show; null: nothing. */
  readonly token: string | null;
  /** Certificate and key to serve with; null (default): nothing is encrypted. */
  readonly tls?: TlsIdentity | null;
  /** Run directory. Default: runs/TIME-NAME for a workload, none for hand-written workers. */
  readonly out?: string | null;
  /** Called once workers can come. */
  readonly onListening?: (running: RunningController, minWorkers: number) => void;
}

/**
 * Serves a run of a workload to its end. Throws what `train` throws, and `port-unavailable`.
 */
export async function serveTraining(options: ServeOptions): Promise<RunResult> {
  const run = await prepareRun(options);
  options.onGoal?.(goalOf(run.core, run.durationMs));
  const output = await createRunOutput({ directory: options.out ?? null, run, label: null });
  try {
    const timed = await withReferenceTime(run, options);
    const { core, training, durationMs, targetAccuracy, stopAtTarget } = timed;
    const interrupted = await serve(
      {
        core,
        config: training,
        durationMs,
        expectsEvaluator: true,
        stopAtAccuracy: stopAtTarget ? targetAccuracy : null,
      },
      { options, record: output.record },
      async (running, state) => {
        const evaluator = startEvaluator({
          controller: localUrlOf(running),
          token: options.token,
          certificate: options.tls?.certificate ?? null,
          training,
          modelFile: output.modelFile,
          mayRestart: state.isStarted,
          onLine: (line) => output.logLine('evaluator', line),
        });
        process.once('exit', evaluator.kill);
        try {
          await Promise.race([running.ended, evaluatorFailure(evaluator, state)]);
          // Before the start there is nothing that it has to finish.
          if (state.isStarted()) await Promise.race([evaluator.exited, graceMs(EXIT_GRACE_MS)]);
        } finally {
          evaluator.kill();
          await evaluator.exited;
          process.removeListener('exit', evaluator.kill);
        }
      },
    );
    return await output.finish(timed, { interrupted });
  } catch (error) {
    await output.abandon();
    throw error;
  }
}

/** How a run of hand-written workers ended. */
export interface JoinedResult {
  readonly summary: RunSummary;
  readonly interrupted: boolean;
}

/**
 * Serves a run of hand-written workers (joinRun), which hold its model themselves. Throws `bad-option`, `bad-config`,
 * `out-dir-unusable`, `port-unavailable`, `aborted`.
 */
export async function serveJoined(options: ServeOptions): Promise<JoinedResult> {
  const core = resolveJoinedRun(options);
  options.onGoal?.(goalOf(core, options.durationMs ?? null));
  const record = options.out == null ? null : await createRunRecord({ directory: options.out, config: { core } });
  const summary = createSummary(
    summaryFactsOf(core, {
      workers: core.minWorkers,
      seed: options.seed ?? 1,
      targetAccuracy: null,
      out: record?.directory ?? null,
    }),
  );
  let started = false;
  try {
    const interrupted = await serve(
      { core, durationMs: options.durationMs ?? null },
      {
        options,
        record(event) {
          if (event.type === 'started') started = true;
          record?.append(event);
          summary.add(event);
        },
      },
      (running) => running.ended,
    );
    const result = summary.result();
    await record?.writeJson(RECORD_FILES.summary, result);
    await record?.close();
    return { summary: result, interrupted };
  } catch (error) {
    await (started ? record?.close() : record?.abandon());
    throw error;
  }
}

interface ServeState {
  readonly isStarted: () => boolean;
  readonly isInterrupted: () => boolean;
}

/** Runs a controller as long as `until` says; whether the run was interrupted. Throws `aborted` before the start. */
async function serve(
  settings: ControllerOptions & { readonly core: CoreConfig },
  { options, record }: { readonly options: ServeOptions; readonly record: (event: RunEvent) => void },
  until: (running: RunningController, state: ServeState) => Promise<void>,
): Promise<boolean> {
  let started = false;
  let interrupted = false;
  let listening: RunningController | null = null;
  const running = await controller({
    ...settings,
    address: options.address,
    token: options.token,
    tls: options.tls ?? null,
    onEvent(event) {
      if (event.type === 'started') started = true;
      record(event);
      if (listening !== null) options.onEvent?.(event, listening);
    },
  });
  listening = running;
  const onAbort = (): void => {
    interrupted = true;
    running.stop('interrupted');
  };
  if (options.signal?.aborted === true) onAbort();
  options.signal?.addEventListener('abort', onAbort);
  try {
    options.onListening?.(running, settings.core.minWorkers);
    await until(running, { isStarted: () => started, isInterrupted: () => interrupted });
  } finally {
    options.signal?.removeEventListener('abort', onAbort);
    await running.close();
  }
  if (interrupted && !started) throw interruptedBeforeStart();
  return interrupted;
}

/** The controller's address as seen from this machine: a wildcard cannot be dialled everywhere. */
function localUrlOf({ address, url }: RunningController): string {
  const here = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[address.host];
  return here === undefined ? url : `${new URL(url).protocol}//${here}:${address.port}`;
}
