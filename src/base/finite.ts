/**
 * The NaN guard's scan (algorithms.md 8).
 */

/** Whether every value is finite. NaN and infinities survive multiplication by zero and addition: one pass, no branches. */
export function isFiniteVector(vector: Float32Array): boolean {
  let sum = 0;
  for (let i = 0; i < vector.length; i += 1) sum += (vector[i] as number) * 0;
  return sum === 0;
}
