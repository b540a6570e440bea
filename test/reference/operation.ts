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

/** (f(x + h) - f(x - h)) / 2h for the elements of `x` at `places`; `x` is as it was afterwards. */
export function centralDifferences(x: Float64Array, f: () => number, places = everyPlace(x)): Float64Array {
  const step = 1e-5;
  return Float64Array.from(places, (place) => {
    const value = x[place] as number;
    x[place] = value + step;
    const above = f();
    x[place] = value - step;
    const below = f();
    x[place] = value;
    return (above - below) / (2 * step);
  });
}

/** All indices of `x`, or `most` of them spread evenly. */
export function everyPlace(x: Float64Array, most = x.length): number[] {
  const count = Math.min(x.length, most);
  return Array.from({ length: count }, (_, i) => Math.floor((i * x.length) / count));
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
