/**
 * Float64 reference of batch normalisation by the batch's own statistics.
 */
import type { ReferenceOperation } from './operation.js';

export interface ChannelStatistics {
  readonly mean: number;
  /** Mean squared distance from the mean. */
  readonly variance: number;
}

/** Statistics per channel of x: [batch, channels, positions]. */
export function channelStatistics(x: ArrayLike<number>, channels: number, positions: number): ChannelStatistics[] {
  return Array.from({ length: channels }, (_, channel) => {
    const values = Array.from(x).filter((_value, i) => Math.floor(i / positions) % channels === channel);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return { mean, variance: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length };
  });
}

/** x: [batch, channels, positions], scale and shift: [channels]. */
export function referenceBatchNorm(channels: number, positions: number, epsilon: number): ReferenceOperation {
  const channelOf = (i: number) => Math.floor(i / positions) % channels;

  function normalise(x: Float64Array): { normal: Float64Array; spread: number[] } {
    const statistics = channelStatistics(x, channels, positions);
    const spread = statistics.map(({ variance }) => Math.sqrt(variance + epsilon));
    const normal = x.map((value, i) => {
      const channel = channelOf(i);
      return (value - (statistics[channel]?.mean as number)) / (spread[channel] as number);
    });
    return { normal, spread };
  }

  return {
    forward([x, scale, shift]) {
      const { normal } = normalise(x as Float64Array);
      return normal.map((value, i) => value * (scale?.[channelOf(i)] as number) + (shift?.[channelOf(i)] as number));
    },
    backward([x, scale], gradient) {
      const { normal, spread } = normalise(x as Float64Array);
      const forScale = new Float64Array(channels);
      const forShift = new Float64Array(channels);
      gradient.forEach((g, i) => {
        const channel = channelOf(i);
        forScale[channel] = (forScale[channel] as number) + g * (normal[i] as number);
        forShift[channel] = (forShift[channel] as number) + g;
      });
      const count = normal.length / channels;
      const forX = gradient.map((g, i) => {
        const channel = channelOf(i);
        const own =
          g - (forShift[channel] as number) / count - ((normal[i] as number) * (forScale[channel] as number)) / count;
        return (own * (scale?.[channel] as number)) / (spread[channel] as number);
      });
      return [forX, forScale, forShift];
    },
  };
}
