/**
 * One run on this machine: a controller in this process, N worker processes and an evaluator process around it.
 */
import { fileURLToPath } from 'node:url';
import { PreduceError } from '../base/errors.js';
import { controller, type RunningController } from '../controller/run-controller.js';
import type { RunEvent } from '../observe/run-events.js';
import { calibrate } from './calibrate.js';
import { saveCheckpoint } from './checkpoints.js';
import { type Child, describeExit, startChild } from './child-process.js';
import { type EvaluatorProcess, startEvaluator } from './evaluator.js';
import { checkResumeOut, openResume, prepareCheckpoints, type ResumedRun, resumeRun } from './resume.js';
import { goalOf, type RunGoal } from './run-goal.js';
import { type ResolvedRun, resolveRun, type RunOptions } from './run-options.js';
import { serverFailure, startServers } from './servers.js';
import { createRunOutput, type RunOutput, type RunResult } from './run-output.js';

/** What a display may show while a run goes on. */
export interface TrainHooks {
  /** Fires to end the run: it drains, and the model of that moment is saved. Before the start it ends everything at once. */
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: RunEvent, running: RunningController) => void;
  /** One line on what is being done before the run starts. */
  readonly onPhase?: (phase: string) => void;
  /** Where the run will end, before anything is started. */
  readonly onGoal?: (goal: RunGoal) => void;
}

export interface TrainOptions extends RunOptions, TrainHooks {
  /** Run directory; default runs/TIME-NAME. */
  readonly out?: string | null;
  /** Directory of a run that goes on from its newest checkpoint; options that are left out are as they were. */
  readonly resume?: string | null;
  /** Name of the run in reports; default the strategy's. */
  readonly label?: string;
}

/** Compiled entry of the program, which worker processes run too. */
const PROGRAM = fileURLToPath(new URL('../cli/main.js', import.meta.url));

/** More than any training set has, and few enough to be multiplied by epochs. */
const SAMPLES_MAX = 2 ** 32;

/** How long a process may take to end by itself once the run is over. */
export const EXIT_GRACE_MS = 5000;

/**
 * Trains and writes the run directory. Throws `bad-option`, `bad-config`, `data-missing`, `bad-data`, `out-dir-unusable`,
 * `worker-failed` (no worker could start, or none was left), `evaluation-failed` (the model was not saved), `aborted`
 * (interrupted before the start).
 */
export async function train(options: TrainOptions): Promise<RunResult> {
  const plan = await planTraining(options);
  const { run, resumed } = plan;
  options.onGoal?.(goalOf(run.core, run.durationMs));
  for (const damage of resumed?.damaged ?? []) options.onPhase?.(`passed over a damaged checkpoint: ${damage}`);
  const output = await createRunOutput({
    directory: options.out ?? null,
    run,
    label: options.label ?? resumed?.manifest.label ?? null,
    resumed: resumed === null ? null : { directory: resumed.directory, checkpoint: resumed.manifest.checkpoint },
  });
  try {
    const calibrated = await withReferenceTime(run, options);
    return await output.finish(calibrated, await runProcesses({ ...plan, run: calibrated }, output, options));
  } catch (error) {
    await output.abandon();
    throw error;
  }
}

/** A run that `train` would start. */
export interface TrainingPlan {
  readonly run: ResolvedRun;
  /** Null: from the beginning. */
  readonly resumed: ResumedRun | null;
  /** What it was made of, for checkpoints. */
  readonly options: RunOptions;
}

/** Resolves options as `train` does: with a checkpoint once an epoch, or those of the run that goes on. Throws what `train` throws. */
export async function planTraining(options: TrainOptions): Promise<TrainingPlan> {
  const { out, resume, label: _label, ...settings } = options;
  const { signal: _signal, onEvent: _onEvent, onPhase: _onPhase, onGoal: _onGoal, ...given } = settings;
  if (resume == null) {
    const own: RunOptions = given.checkpointEvery === undefined ? { ...given, checkpointEvery: 'epoch' } : given;
    return { run: await prepareRun(own), resumed: null, options: own };
  }
  checkResumeOut(resume, out ?? null);
  const resumed = await openResume(resume, given);
  return { run: resumeRun(await prepareRun(resumed.options), resumed), resumed, options: resumed.options };
}

/** Reads the data once, for its size and its errors, and resolves the options against it. */
export async function prepareRun(options: RunOptions): Promise<ResolvedRun> {
  // A first pass finds wrong options before the data is read.
  const { workload } = resolveRun(options, SAMPLES_MAX);
  const { train: samples } = await workload.loadData(options.dataDirectory ?? null);
  return resolveRun(options, samples.sampleCount);
}

/** The run with the reference time of its emulated devices, measured where it is needed and not given. */
export async function withReferenceTime(run: ResolvedRun, hooks: TrainHooks): Promise<ResolvedRun> {
  const { training } = run;
  if (training.slow.length === 0 || training.referenceMs !== null) return run;
  hooks.onPhase?.(`measuring the reference iteration with ${training.workerCount} workers computing together`);
  const { workload, dataDirectory, batchSamples, threads, workerCount } = training;
  const referenceMs = await calibrate({
    workload,
    dataDirectory,
    batchSamples,
    threads,
    workers: workerCount,
    ...(hooks.signal === undefined ? {} : { signal: hooks.signal }),
  });
  hooks.onPhase?.(`reference iteration: ${referenceMs.toFixed(1)} ms`);
  return { ...run, training: { ...training, referenceMs } };
}

/** What was seen of the processes of a run. */
export interface ProcessesOutcome {
  readonly interrupted: boolean;
}

async function runProcesses(plan: TrainingPlan, output: RunOutput, hooks: TrainHooks): Promise<ProcessesOutcome> {
  const { run, resumed } = plan;
  const checkpoints = run.core.checkpoints === null ? null : await prepareCheckpoints(output.directory);
  let started = false;
  let running: RunningController | null = null;
  function tell(event: RunEvent): void {
    output.record(event);
    if (running !== null) hooks.onEvent?.(event, running);
  }
  running = await controller({
    core: run.core,
    config: run.training,
    durationMs: run.durationMs,
    expectsEvaluator: true,
    stopAtAccuracy: run.stopAtTarget ? run.targetAccuracy : null,
    clockStartMs: Math.max(resumed?.manifest.timeMs ?? 0, output.recordedMs),
    saveCheckpoint: (cut) => saveCheckpoint(cut, { plan, directory: output.directory, label: output.label }),
    onEvent(event) {
      if (event.type === 'started') {
        started = true;
        if (resumed !== null) tell(resumedEvent(resumed, event.timeMs));
      }
      tell(event);
    },
  });
  hooks.onPhase?.(`starting ${run.training.workerCount} workers`);
  const { url } = running;
  const workers = Array.from({ length: run.training.workerCount }, (_, index) =>
    startChild({
      name: `worker ${index}`,
      script: PROGRAM,
      args: [
        'worker',
        '--controller',
        url,
        '--worker',
        String(index),
        ...(checkpoints === null ? [] : ['--checkpoint-dir', checkpoints]),
      ],
      onLine: (line) => output.logLine(`worker ${index}`, line),
    }),
  );
  for (const worker of workers) {
    void worker.exited.then((exit) => {
      if (exit.code !== 0) output.logLine(worker.name, `ended: ${describeExit(exit)}`);
    });
  }
  const evaluator = startEvaluator({
    controller: url,
    token: null,
    certificate: null,
    training: run.training,
    modelFile: output.modelFile,
    mayRestart: () => started,
    onLine: (line) => output.logLine('evaluator', line),
  });
  const servers = startServers({ run, controller: url, script: PROGRAM, onLine: output.logLine });
  const allExited = Promise.all([...workers, ...servers, evaluator].map((child) => child.exited));
  // Whatever ends this process ends the children; their IPC channel covers the cases that no handler sees.
  const killAll = (): void => {
    for (const child of [...workers, ...servers]) child.kill('SIGKILL');
    evaluator.kill();
  };
  process.once('exit', killAll);

  let interrupted = false;
  const onAbort = (): void => {
    interrupted = true;
    if (started) running.stop('interrupted');
    else killAll();
  };
  if (hooks.signal?.aborted === true) onAbort();
  hooks.signal?.addEventListener('abort', onAbort);
  try {
    const state: StartState = { isStarted: () => started, isInterrupted: () => interrupted };
    await Promise.race([
      running.ended,
      failureOf(workers, state),
      serverFailure(servers, () => started || interrupted),
      evaluatorFailure(evaluator, state),
    ]);
    await Promise.race([allExited, graceMs(EXIT_GRACE_MS)]);
    return { interrupted };
  } finally {
    hooks.signal?.removeEventListener('abort', onAbort);
    killAll();
    await allExited;
    process.removeListener('exit', killAll);
    await running.close();
  }
}

function resumedEvent({ manifest }: ResumedRun, timeMs: number): RunEvent {
  return { type: 'resumed', timeMs, checkpoint: manifest.checkpoint, ...manifest.progress };
}

/** Resolves after that long, without keeping the process alive. */
export function graceMs(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}

/** How far a run has come when one of its processes ends. */
export interface StartState {
  isStarted(): boolean;
  isInterrupted(): boolean;
}

/** The end of a run that never began. */
export function interruptedBeforeStart(): PreduceError {
  return new PreduceError('aborted', 'interrupted before the run had started: nothing was trained');
}

/** Rejects when a worker cannot start, or when all of them have ended before the run did. */
async function failureOf(workers: readonly Child[], { isStarted, isInterrupted }: StartState): Promise<never> {
  return new Promise((_, reject) => {
    let left = workers.length;
    for (const worker of workers) {
      void worker.exited.then((exit) => {
        left -= 1;
        if (isInterrupted() && !isStarted()) {
          reject(interruptedBeforeStart());
        } else if (!isStarted()) {
          reject(new PreduceError('worker-failed', `${worker.name} could not start: ${describeExit(exit)}`));
        } else if (left === 0 && exit.code !== 0) {
          reject(
            new PreduceError('worker-failed', `no worker is left: ${worker.name} ended last (${describeExit(exit)})`),
          );
        }
      });
    }
  });
}

/** Rejects when the evaluator cannot start; later the run goes on without it. */
export async function evaluatorFailure(
  evaluator: EvaluatorProcess,
  { isStarted, isInterrupted }: StartState,
): Promise<never> {
  const exit = await evaluator.exited;
  if (!isStarted() && isInterrupted()) throw interruptedBeforeStart();
  if (!isStarted() && exit.code !== 0) {
    throw new PreduceError('worker-failed', `the evaluator could not start: ${describeExit(exit)}`);
  }
  return new Promise(() => undefined);
}
