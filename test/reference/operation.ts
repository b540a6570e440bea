/**
 * The float64 counterpart of an operation, written for clarity alone, and the central differences that check it.
 */

/** Inputs and outputs are flat; a reference knows its shapes. */
export interface ReferenceOperation {
  forward(inputs: readonly Float64Array[]): Float64Array;
  /** The gradient of sum(output * gradient) with respect to each input. */
  backward(inputs: readonly Float64Array[], gradient: Float64Array): readonly Float64Array[];
}

export function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}

/** (f(x + h) - f(x - h)) / 2h for every element of `x`, which is as it was afterwards. */
export function centralDifferences(x: Float64Array, f: () => number, step = 1e-5): Float64Array {
  return x.map((value, i) => {
    x[i] = value + step;
    const above = f();
    x[i] = value - step;
    const below = f();
    x[i] = value;
    return (above - below) / (2 * step);
  });
}

/** Largest difference between `actual` and `expected`, in units of the larger of 1 and expected's largest element. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  let scale = 1;
  let worst = 0;
  for (let i = 0; i < expected.length; i += 1) scale = Math.max(scale, Math.abs(expected[i] as number));
  for (let i = 0; i < expected.length; i += 1) {
    const error = Math.abs((actual[i] as number) - (expected[i] as number));
    // NaN compares false with everything, so it is counted by hand.
    worst = Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(worst, error);
  }
  return worst / scale;
}
