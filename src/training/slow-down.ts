/**
 * Emulated heterogeneity (algorithms.md 9): how long one iteration of a worker takes on the device that it plays, given
 * the time `referenceMs` of an iteration on the reference device.
 */
import { PreduceError } from '../base/errors.js';
import { createRandom, type Random } from '../base/random.js';
import { parseDurationMs } from '../base/units.js';

/** One `--slow` specification. */
export type SlowDown =
  /** The last `level` workers share a device: `level` times slower. HL in the paper. */
  | { readonly kind: 'hl'; readonly level: number }
  | { readonly kind: 'straggler'; readonly worker: number; readonly factor: number }
  /** Each iteration sleeps `sleepMs` more with this probability. */
  | { readonly kind: 'random'; readonly probability: number; readonly sleepMs: number }
  /** Each iteration is multiplied by a log-normal factor of mean 1. */
  | { readonly kind: 'lognormal'; readonly sigma: number };

const FORMS = 'hl:LEVEL, straggler:WORKER,FACTOR, random:PROBABILITY,TIME or lognormal:SIGMA';

function badSpec(text: string, why: string): PreduceError {
  return new PreduceError(
    'bad-option',
    `--slow "${text}": ${why}; expected ${FORMS}, like straggler:3,4 or random:.1,100ms`,
  );
}

function parseNumber(spec: string, text: string | undefined, name: string, minimum: number): number {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value) || value < minimum) {
    throw badSpec(spec, `${name} must be a number of at least ${minimum}, got "${text ?? ''}"`);
  }
  return value;
}

/** Parses one `--slow` specification. Throws `bad-option`. */
export function parseSlowDown(text: string): SlowDown {
  const [kind, rest = ''] = text.split(':', 2);
  const parts = rest.split(',');
  const expectParts = (count: number): void => {
    if (parts.length !== count)
      throw badSpec(text, `${kind} takes ${count} value${count === 1 ? '' : 's'}, got ${parts.length}`);
  };
  switch (kind) {
    case 'hl': {
      expectParts(1);
      const level = parseNumber(text, parts[0], 'the level', 1);
      if (!Number.isInteger(level)) throw badSpec(text, 'the level must be a whole number');
      return { kind, level };
    }
    case 'straggler': {
      expectParts(2);
      const worker = parseNumber(text, parts[0], 'the worker', 0);
      if (!Number.isInteger(worker)) throw badSpec(text, 'the worker must be a whole number');
      return { kind, worker, factor: parseNumber(text, parts[1], 'the factor', 1) };
    }
    case 'random': {
      expectParts(2);
      const probability = parseNumber(text, parts[0], 'the probability', 0);
      if (probability > 1) throw badSpec(text, `the probability must be at most 1, got ${probability}`);
      return { kind, probability, sleepMs: parseDurationMs(parts[1] as string) };
    }
    case 'lognormal':
      expectParts(1);
      return { kind, sigma: parseNumber(text, parts[0], 'sigma', 0) };
    default:
      throw badSpec(text, `unknown kind "${kind}"`);
  }
}

/** Throws `bad-option` when a specification names a worker that the run does not have. */
export function checkSlowDowns(slow: readonly SlowDown[], workerCount: number): void {
  for (const spec of slow) {
    if (spec.kind === 'straggler' && spec.worker >= workerCount) {
      throw new PreduceError(
        'bad-option',
        `--slow straggler:${spec.worker},${spec.factor}: the run has workers 0 to ${workerCount - 1}, got worker ${spec.worker}`,
      );
    }
    if (spec.kind === 'hl' && spec.level > workerCount) {
      throw new PreduceError(
        'bad-option',
        `--slow hl:${spec.level}: expected a level of at most the ${workerCount} workers, got ${spec.level}`,
      );
    }
  }
}

/** Times of one worker's iterations, one call each. */
export type DeviceClock = () => number;

/**
 * The device that `worker` of `workerCount` plays: each call gives the length of its next iteration in ms. All factors
 * multiply, sleeps add. Random ones are decided by `seed` and `worker`.
 */
export function createDeviceClock(
  slow: readonly SlowDown[],
  options: {
    readonly worker: number;
    readonly workerCount: number;
    readonly referenceMs: number;
    readonly seed: number;
  },
): DeviceClock {
  const { worker, workerCount, referenceMs, seed } = options;
  const random: Random = createRandom(seed).fork(worker);
  return () => {
    let factor = 1;
    let sleepMs = 0;
    for (const spec of slow) {
      switch (spec.kind) {
        case 'hl':
          if (worker >= workerCount - spec.level) factor *= spec.level;
          break;
        case 'straggler':
          if (worker === spec.worker) factor *= spec.factor;
          break;
        case 'random':
          if (random.next() < spec.probability) sleepMs += spec.sleepMs;
          break;
        case 'lognormal':
          factor *= Math.exp(spec.sigma * random.normal() - spec.sigma ** 2 / 2);
          break;
        default:
          spec satisfies never;
      }
    }
    return factor * referenceMs + sleepMs;
  };
}

/** How much faster the fleet would be than all-reduce if nobody waited: (sum of speeds x slowest time) / N. Random parts are left out. */
export function idealSpeedUp(slow: readonly SlowDown[], workerCount: number): number {
  const steady = slow.filter((spec) => spec.kind === 'hl' || spec.kind === 'straggler');
  const times = Array.from({ length: workerCount }, (_, worker) =>
    createDeviceClock(steady, { worker, workerCount, referenceMs: 1, seed: 0 })(),
  );
  return (Math.max(...times) * times.reduce((sum, time) => sum + 1 / time, 0)) / workerCount;
}
