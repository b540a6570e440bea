/**
 * How long a simulated worker's iterations take: the slow-downs of real runs (algorithms.md 9), drawn from the same clocks, and
 * measured times (`trace:`) in the place of the reference time.
 */
import { PreduceError } from '../base/errors.js';
import { createRandom } from '../base/random.js';
import { createDeviceClock, type DeviceClock, type SlowDown } from '../training/slow-down.js';

/** Measured iteration times in ms. A worker without times of its own replays those of `anybody`. */
export interface Trace {
  readonly anybody: readonly number[];
  readonly byWorker: ReadonlyMap<number, readonly number[]>;
}

export interface ComputeModel {
  readonly referenceMs: number;
  readonly slow: readonly SlowDown[];
  /** Null: every iteration takes `referenceMs`, before slow-downs. */
  readonly trace: Trace | null;
}

/**
 * Parses a trace: a line for each iteration, `MILLISECONDS` or `WORKER,MILLISECONDS`; empty lines and those that begin with #
 * are skipped. Throws `bad-data`.
 */
export function parseTrace(text: string, name: string): Trace {
  const anybody: number[] = [];
  const byWorker = new Map<number, number[]>();
  const timesOf = (worker: number): number[] => {
    const times = byWorker.get(worker) ?? [];
    byWorker.set(worker, times);
    return times;
  };
  text.split('\n').forEach((line, index) => {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) return;
    const match = /^(?:(\d+)\s*,)?\s*(\d+(?:\.\d+)?|\.\d+)$/.exec(trimmed);
    const milliseconds = Number(match?.[2]);
    if (match === null || !(milliseconds > 0)) {
      throw new PreduceError(
        'bad-data',
        `${name}, line ${index + 1}: expected MILLISECONDS or WORKER,MILLISECONDS above 0, got "${trimmed.slice(0, 40)}"`,
      );
    }
    if (match[1] === undefined) anybody.push(milliseconds);
    else timesOf(Number(match[1])).push(milliseconds);
  });
  if (anybody.length === 0 && byWorker.size === 0) {
    throw new PreduceError('bad-data', `${name}: expected at least one line with an iteration's time, got none`);
  }
  return { anybody, byWorker };
}

/**
 * The times of `worker`'s iterations, one call each. Factors multiply the reference or measured time, sleeps add; what is drawn
 * is decided by `seed` and `worker`, as on real workers. Throws `bad-data` where the trace has no times for the worker.
 */
export function createComputeClock(
  { referenceMs, slow, trace }: ComputeModel,
  options: { readonly worker: number; readonly workerCount: number; readonly seed: number },
): DeviceClock {
  if (trace === null) return createDeviceClock(slow, { ...options, referenceMs });
  const { worker, seed } = options;
  const own = trace.byWorker.get(worker);
  const times = own ?? trace.anybody;
  if (times.length === 0) {
    throw new PreduceError('bad-data', `--slow trace: expected times for worker ${worker}, or for anybody, got none`);
  }
  const isSleep = (spec: SlowDown): boolean => spec.kind === 'random';
  const factor = createDeviceClock(
    slow.filter((spec) => !isSleep(spec)),
    { ...options, referenceMs: 1 },
  );
  const sleep = createDeviceClock(slow.filter(isSleep), { ...options, seed: seed + 1, referenceMs: 0 });
  // Whoever shares times with others begins somewhere else: the fleet shall not slow down in step.
  let position = own === undefined ? createRandom(seed).fork(worker).below(times.length) : 0;
  return () => {
    const measuredMs = times[position] as number;
    position = (position + 1) % times.length;
    return measuredMs * factor() + sleep();
  };
}
