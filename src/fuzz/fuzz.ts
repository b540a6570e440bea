/**
 * Feeds readers with damaged and random input. Input number i of a target is decided by the seed and i alone, so that whatever is
 * found is found again by `--target NAME --seed S --input i`.
 */
import { PreduceError } from '../base/errors.js';
import { createRandom, type Random } from '../base/random.js';
import { createInput } from './mutate.js';
import type { Target } from './target.js';

/** A reader threw what no caller expects. */
export interface Finding {
  readonly target: string;
  readonly seed: number;
  readonly input: number;
  /** The input in hexadecimal digits, its beginning where it is long. */
  readonly bytes: string;
  readonly message: string;
}

export interface TargetCount {
  inputs: number;
  /** Of them, those that the reader took. */
  taken: number;
}

const SHOWN_BYTES = 2000;

/** One generator for each target, whose forks are the inputs. */
export function randomOf(targets: readonly Target[], target: Target, seed: number): Random {
  return createRandom(seed).fork(1 + targets.indexOf(target));
}

export function inputOf(target: Target, random: Random, input: number): Uint8Array {
  return createInput(random.fork(input), target.examples);
}

/** Reads one input; null: it was taken, or refused as it should be. */
export function tryInput(
  target: Target,
  bytes: Uint8Array,
  where: { readonly seed: number; readonly input: number },
  count: TargetCount,
): Finding | null {
  count.inputs += 1;
  try {
    target.read(bytes);
    count.taken += 1;
    return null;
  } catch (error) {
    if (error instanceof PreduceError) return null;
    return {
      target: target.name,
      ...where,
      bytes: Buffer.from(bytes.subarray(0, SHOWN_BYTES)).toString('hex'),
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}
