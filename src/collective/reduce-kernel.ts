/**
 * The weighted sum, in plain TypeScript. Hot: called for every value of every collective.
 */

/** out = weight * x; zeroes where the weight is 0, whatever x holds (0 x NaN is NaN). */
export function scaleInto(out: Float32Array, x: Float32Array, weight: number): void {
  if (weight === 0) {
    out.fill(0);
    return;
  }
  for (let i = 0; i < out.length; i += 1) out[i] = weight * (x[i] as number);
}

/** out += weight * x; a weight of 0 leaves `out` as it is, whatever x holds. */
export function addScaledInto(out: Float32Array, x: Float32Array, weight: number): void {
  if (weight === 0) return;
  for (let i = 0; i < out.length; i += 1) out[i] = (out[i] as number) + weight * (x[i] as number);
}

/** out = sum over j of weights[j] * vectors[j], in this order: equal inputs give equal bits. */
export function weightedSumInto(out: Float32Array, vectors: readonly Float32Array[], weights: readonly number[]): void {
  out.fill(0);
  vectors.forEach((vector, j) => addScaledInto(out, vector, weights[j] ?? 0));
}
