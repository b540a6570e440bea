/**
 * The two-phase collective of robust clipping, at one member: between receiving the slices of its part and summing them it
 * measures them and tells everybody, so that all know the norms of whole vectors at the price of n + 1 numbers a pair. No
 * vector is exchanged twice, and every member ends with the same bits, as each part is summed by one.
 */
import { PreduceError } from '../base/errors.js';
import { clipFactors, clippedSumInto, measurePart } from './clip.js';

export interface ClipExchange {
  /** Slices of the own part, in the order of the members, are there. Gives what everybody else shall be sent, once. */
  measure(slices: readonly Float32Array[]): Uint8Array | null;
  /** The measure of member `rank`'s part. Throws `bad-frame`. */
  take(rank: number, payload: Uint8Array): void;
  has(rank: number): boolean;
  /** Of all members, once every part is measured; null before. */
  readonly factors: readonly number[] | null;
  /** Members whose factor is below 1. */
  readonly clipped: readonly number[];
  sumInto(target: Float32Array, slices: readonly Float32Array[]): void;
}

export function createClipExchange(rank: number, weights: readonly number[]): ClipExchange {
  const count = weights.length;
  const measures = new Map<number, Float64Array>();
  let factors: readonly number[] | null = null;

  function add(from: number, measure: Float64Array): void {
    measures.set(from, measure);
    if (measures.size < count) return;
    const squares = new Float64Array(count + 1);
    // In the order of the members: the same sum everywhere.
    for (let j = 0; j < count; j += 1) {
      measures.get(j)?.forEach((square, i) => {
        squares[i] = (squares[i] as number) + square;
      });
    }
    factors = clipFactors(squares, weights);
  }

  return {
    measure(slices) {
      if (measures.has(rank)) return null;
      const measure = measurePart(slices, weights);
      add(rank, measure);
      return new Uint8Array(measure.buffer);
    },
    take(from, payload) {
      const expected = (count + 1) * Float64Array.BYTES_PER_ELEMENT;
      if (payload.byteLength !== expected || measures.has(from)) {
        throw new PreduceError(
          'bad-frame',
          `expected one measure of ${expected} bytes from member ${from}, got ${payload.byteLength} bytes`,
        );
      }
      const measure = new Float64Array(payload.slice().buffer);
      if (measure.every((square) => square >= 0 && Number.isFinite(square))) return add(from, measure);
      throw new PreduceError('bad-frame', `expected squares from member ${from}, got a number that is none`);
    },
    has: (from) => measures.has(from),
    get factors() {
      return factors;
    },
    get clipped() {
      return factors?.flatMap((factor, j) => (factor < 1 ? [j] : [])) ?? [];
    },
    sumInto: (target, slices) => clippedSumInto(target, slices, { weights, factors: factors ?? [] }),
  };
}
