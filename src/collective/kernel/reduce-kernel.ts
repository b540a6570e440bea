/**
 * What sums the members' vectors, and looks through them.
 */

export interface ReduceKernel {
  readonly name: 'plain' | 'simd';
  /**
   * out = sum over j of weights[j] * vectors[j], in this order, in float32: equal inputs give equal bits, whichever kernel.
   * A weight of 0 skips the vector, whatever it holds (0 x NaN is NaN). `out` has the vectors' length and may be the
   * first of them, no other.
   */
  weightedSumInto(out: Float32Array, vectors: readonly Float32Array[], weights: readonly number[]): void;
  /** Whether every value is finite: the NaN guard's scan (algorithms.md 8). */
  isFinite(vector: Float32Array): boolean;
}
