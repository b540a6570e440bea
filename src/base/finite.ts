/**
 * The NaN guard's scan (algorithms.md 8).
 */

/**
 * Whether every value is finite. NaN and infinities survive multiplication by zero and addition: one pass, no branches. Four
 * sums, because one would wait for each of its additions.
 */
export function isFiniteVector(vector: Float32Array): boolean {
  const { length } = vector;
  const whole = length - (length % 4);
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let i = 0; i < whole; i += 4) {
    a += (vector[i] as number) * 0;
    b += (vector[i + 1] as number) * 0;
    c += (vector[i + 2] as number) * 0;
    d += (vector[i + 3] as number) * 0;
  }
  for (let i = whole; i < length; i += 1) a += (vector[i] as number) * 0;
  return a + b + c + d === 0;
}
