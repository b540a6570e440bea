/**
 * The mean of all replicas, which is what a run is judged by (algorithms.md 3.6), and how far the replicas lie from it.
 */

/** The mean of vectors of one length; at least one. */
export function meanOf(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float64Array(vectors[0]?.length ?? 0);
  for (const vector of vectors)
    for (let i = 0; i < sum.length; i += 1) sum[i] = (sum[i] as number) + (vector[i] as number);
  return Float32Array.from(sum, (value) => value / vectors.length);
}

/** Root of the mean squared distance of the vectors from their mean; 0 where all are the same. */
export function distanceFromMean(vectors: readonly Float32Array[]): number {
  const mean = meanOf(vectors);
  let square = 0;
  for (const vector of vectors) {
    for (let i = 0; i < mean.length; i += 1) square += ((vector[i] as number) - (mean[i] as number)) ** 2;
  }
  return Math.sqrt(square / vectors.length);
}
