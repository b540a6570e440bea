/**
 * A run for workers that others start, on this or other machines: the controller in this process, and beside it, where
 * the run has a workload, the evaluator that measures its accuracy and saves its model.
 */
import { resolve } from 'node:path';
import { assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import type { TlsIdentity } from '../controller/control-server.js';
import { controller, type ControllerOptions, type RunningController } from '../controller/run-controller.js';
import type { CoreConfig } from '../core/config.js';
import { strategies } from '../core/strategies/strategies.js';
import type { RunEvent } from '../observe/run-events.js';
import { continueRunRecord } from '../observe/continued-record.js';
import { createRunRecord, RECORD_FILES, type RunRecord } from '../observe/run-record.js';
import { createSummary, type RunSummary, summaryFactsOf } from '../observe/summary.js';
import type { Address } from '../wire/messages.js';
import { startEvaluator } from './evaluator.js';
import { type FormerSettings, type KeptRun, openKeptRun } from './kept-run.js';
import { goalOf } from './run-goal.js';
import { type ResolvedRun, type RunOptions, resolveJoinedRun } from './run-options.js';
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
  /** Directory where the run is written down, so that the same options go on with it after this process has died. */
  readonly state?: string | null;
  /** Called once workers can come; `minWorkers` is null where the run goes on with those of before. */
  readonly onListening?: (running: RunningController, minWorkers: number | null) => void;
}

/**
 * Serves a run of a workload to its end. Throws what `train` throws, `port-unavailable`, and with `state` also `state-locked`,
 * `state-unusable` and `run-ended`.
 */
export async function serveTraining(options: ServeOptions): Promise<RunResult> {
  const run = await prepareRun(options);
  options.onGoal?.(goalOf(run.core, run.durationMs));
  return withKeptRun(options, run.core, async (kept) => {
    const former = kept?.former ?? null;
    const output = await createRunOutput({
      directory: options.out ?? null,
      run,
      label: null,
      continued: former === null ? null : { directory: assertPresent(former.out, 'the directory of a run') },
    });
    try {
      const timed = await withReferenceTime(withFormerTime(run, former), options);
      const { core, training, durationMs, targetAccuracy, stopAtTarget } = timed;
      const interrupted = await serve(
        {
          core,
          config: training,
          durationMs,
          expectsEvaluator: true,
          stopAtAccuracy: stopAtTarget ? targetAccuracy : null,
          ...storeOf(kept, { out: output.directory, referenceMs: training.referenceMs }),
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
      if (!output.hasStarted()) forgetNew(kept);
      throw error;
    }
  });
}

/** What was measured for the run once stays. */
function withFormerTime(run: ResolvedRun, former: FormerSettings | null): ResolvedRun {
  return former === null ? run : { ...run, training: { ...run.training, referenceMs: former.referenceMs } };
}

/** How a run of hand-written workers ended. */
export interface JoinedResult {
  readonly summary: RunSummary;
  readonly interrupted: boolean;
}

/**
 * Serves a run of hand-written workers (joinRun), which hold its model themselves. Throws `bad-option`, `bad-config`,
 * `out-dir-unusable`, `port-unavailable`, `aborted`, and with `state` also `state-locked`, `state-unusable` and `run-ended`.
 */
export async function serveJoined(options: ServeOptions): Promise<JoinedResult> {
  const core = resolveJoinedRun(options);
  options.onGoal?.(goalOf(core, options.durationMs ?? null));
  return withKeptRun(options, core, async (kept) => {
    const former = kept?.former ?? null;
    const out = former === null ? (options.out ?? null) : former.out;
    const summary = createSummary(
      summaryFactsOf(core, {
        workers: core.minWorkers,
        seed: options.seed ?? 1,
        targetAccuracy: null,
        out: out === null ? null : resolve(out),
      }),
    );
    let started = false;
    function take(event: RunEvent): void {
      if (event.type === 'started') started = true;
      summary.add(event);
    }
    const record = out === null ? null : await openJoinedRecord(out, { core, former, take });
    try {
      const interrupted = await serve(
        {
          core,
          durationMs: options.durationMs ?? null,
          ...storeOf(kept, { out: record?.directory ?? null, referenceMs: null }),
        },
        {
          options,
          record(event) {
            record?.append(event);
            take(event);
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
      if (!started) forgetNew(kept);
      throw error;
    }
  });
}

interface JoinedRecordOptions {
  readonly core: CoreConfig;
  readonly former: FormerSettings | null;
  take(event: RunEvent): void;
}

function openJoinedRecord(directory: string, { core, former, take }: JoinedRecordOptions): Promise<RunRecord> {
  if (former === null) return createRunRecord({ directory, config: { core } });
  return continueRunRecord({ directory, onKept: take });
}

/** Holds the state directory, where one is asked for, as long as `use` takes. */
async function withKeptRun<T>(
  options: ServeOptions,
  core: CoreConfig,
  use: (kept: KeptRun | null) => Promise<T>,
): Promise<T> {
  const { address: _address, token: _token, tls: _tls, out, state, ...rest } = options;
  const { onListening: _onListening, signal: _signal, onEvent: _onEvent, ...hookless } = rest;
  const { onPhase: _onPhase, onGoal: _onGoal, ...asked } = hookless;
  if (state == null) return use(null);
  if (strategies[core.strategy].usesServers === true) {
    throw new PreduceError(
      'bad-option',
      `--state: expected a strategy without parameter servers, got ${core.strategy}: servers keep the model in memory only`,
    );
  }
  const kept = await openKeptRun(state, asked, out ?? null);
  try {
    return await use(kept);
  } finally {
    kept.store.close();
  }
}

function storeOf(kept: KeptRun | null, found: FormerSettings): Pick<ControllerOptions, 'store' | 'storedSettings'> {
  return kept === null ? {} : { store: kept.store, storedSettings: kept.settings(found) };
}

/** A run that never began leaves its directory to another. */
function forgetNew(kept: KeptRun | null): void {
  if (kept?.former === null) kept.store.forget();
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
  const early: RunEvent[] = [];
  const running = await controller({
    ...settings,
    address: options.address,
    token: options.token,
    tls: options.tls ?? null,
    onEvent(event) {
      if (event.type === 'started' || event.type === 'restarted') started = true;
      record(event);
      if (listening === null) early.push(event);
      else options.onEvent?.(event, listening);
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
    options.onListening?.(running, started ? null : settings.core.minWorkers);
    for (const event of early) options.onEvent?.(event, running);
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
