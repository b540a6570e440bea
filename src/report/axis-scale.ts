/**
 * Bounds and steps of a chart's axis: round numbers that spend the space on where the curves differ.
 */

export interface AxisScale {
  readonly min: number;
  readonly max: number;
  /** Between two labels. */
  readonly step: number;
  /** Decimals that the labels need. */
  readonly decimals: number;
}

export interface AxisScaleOptions {
  /** Shares of the values that may fall outside at either end: a curve's first steep stretch would flatten the rest. */
  readonly cutLow?: number;
  readonly cutHigh?: number;
  /** Values that must be inside, whatever is cut. */
  readonly include?: readonly number[];
  readonly lowest?: number;
  readonly highest?: number;
  /** About how many steps. Default 5. */
  readonly steps?: number;
}

/** 1, 2 or 5 times a power of ten, at least `raw`. */
function niceStep(raw: number): number {
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= raw * (1 - 1e-9)) ?? 10;
  return factor * power;
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
}

/** A scale for `values` (finite numbers; may be empty). */
export function axisScale(values: readonly number[], options: AxisScaleOptions = {}): AxisScale {
  const { cutLow = 0, cutHigh = 0, include = [], steps = 5 } = options;
  const sorted = values.toSorted((a, b) => a - b);
  const inside = sorted.length === 0 ? include : [quantile(sorted, cutLow), quantile(sorted, 1 - cutHigh), ...include];
  let low = inside.length === 0 ? 0 : Math.min(...inside);
  let high = inside.length === 0 ? 1 : Math.max(...inside);
  if (high - low < 1e-9 * Math.max(1, Math.abs(high))) {
    // One value alone: something to either side of it.
    const margin = Math.abs(high) * 0.05 || 1;
    low -= margin;
    high += margin;
  }
  const step = niceStep((high - low) / steps);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const round = (value: number): number => Number(value.toFixed(decimals));
  const min = round(Math.floor(low / step + 1e-9) * step);
  const max = round(Math.ceil(high / step - 1e-9) * step);
  return {
    min: Math.max(min, options.lowest ?? Number.NEGATIVE_INFINITY),
    max: Math.min(max, options.highest ?? Number.POSITIVE_INFINITY),
    step,
    decimals,
  };
}
