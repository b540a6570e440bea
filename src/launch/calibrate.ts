/**
 * The reference time of emulated devices (algorithms.md 9): how long one iteration takes when all N workers compute
 * together on this machine. Measured once and used for every strategy that is compared, so that the contention for
 * shared cores does not inflate anybody's gain.
 */
import { fileURLToPath } from 'node:url';
import { PreduceError } from '../base/errors.js';
import { type Child, startChild } from './child-process.js';

export interface CalibrationTask {
  readonly workload: string;
  readonly dataDirectory: string | null;
  readonly batchSamples: number;
  readonly threads: number;
  readonly warmUpSteps: number;
  readonly minSteps: number;
  readonly durationMs: number;
}

export type CalibrationAnswer =
  | { readonly type: 'ready' }
  | { readonly type: 'measured'; readonly stepsMs: readonly number[] };

export interface CalibrateOptions {
  readonly workload: string;
  readonly dataDirectory: string | null;
  readonly batchSamples: number;
  readonly threads: number;
  readonly workers: number;
  readonly signal?: AbortSignal;
}

const WARM_UP_STEPS = 5;
const MIN_STEPS = 20;
const DURATION_MS = 1500;
/**
 * Room on the shared cores for what training does beside the gradient (update, collectives, control, evaluation): without it
 * the emulated fast devices could not keep their pace, and all strategies would measure the cores, not the devices.
 */
const HEADROOM = 2;
/** Below this the sleep timer's resolution (1 ms) would show. */
const REFERENCE_MS_MIN = 10;

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

/** The answer of this type, or an error if the process ends before it comes. */
async function answerOf(child: Child, type: CalibrationAnswer['type']): Promise<CalibrationAnswer> {
  return Promise.race([
    new Promise<CalibrationAnswer>((resolve) => {
      child.onMessage((message) => {
        const answer = message as CalibrationAnswer;
        if (answer.type === type) resolve(answer);
      });
    }),
    child.exited.then((exit): never => {
      throw new PreduceError(
        'worker-failed',
        `${child.name} ended early: ${exit.lastLines.at(-1) ?? `exit code ${exit.code}`}`,
      );
    }),
  ]);
}

/** Milliseconds of one iteration on the reference device. Throws `worker-failed`, `aborted`. */
export async function calibrate(options: CalibrateOptions): Promise<number> {
  const { workers, signal, ...task } = options;
  const script = fileURLToPath(new URL('./calibration-process.js', import.meta.url));
  const children = Array.from({ length: workers }, (_, index) =>
    startChild({ name: `calibration process ${index}`, script, args: [] }),
  );
  const stop = (): void => {
    for (const child of children) child.kill('SIGKILL');
  };
  signal?.addEventListener('abort', stop);
  try {
    const ready = children.map((child) => answerOf(child, 'ready'));
    const measured = children.map((child) => answerOf(child, 'measured'));
    // A failure is reported once, by whichever comes first.
    for (const promise of [...ready, ...measured]) promise.catch(() => undefined);
    const request: CalibrationTask = {
      ...task,
      warmUpSteps: WARM_UP_STEPS,
      minSteps: MIN_STEPS,
      durationMs: DURATION_MS,
    };
    for (const child of children) child.send(request);
    await Promise.all(ready);
    for (const child of children) child.send({ type: 'go' });
    const answers = await Promise.all(measured);
    const slowest = Math.max(
      ...answers.map((answer) => (answer.type === 'measured' ? quantile(answer.stepsMs, 0.75) : 0)),
    );
    return Math.max(REFERENCE_MS_MIN, HEADROOM * slowest);
  } catch (error) {
    if (signal?.aborted === true) throw new PreduceError('aborted', 'interrupted while calibrating', { cause: error });
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
    await Promise.all(children.map((child) => child.exited));
  }
}
