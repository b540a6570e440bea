/**
 * The weighted sum in plain TypeScript: where WebAssembly cannot be had, and the measure of the SIMD one, which gives the
 * same bits. Hot: called for every value of every collective.
 */
import { isFiniteVector } from '../../base/finite.js';
import type { ReduceKernel } from './reduce-kernel.js';

const { fround } = Math;

function scaleInto(out: Float32Array, x: Float32Array, weight: number): void {
  for (let i = 0; i < out.length; i += 1) out[i] = weight * (x[i] as number);
}

function addScaledInto(out: Float32Array, x: Float32Array, weight: number): void {
  // The product is rounded on its own: SIMD has no wider intermediate.
  for (let i = 0; i < out.length; i += 1) out[i] = (out[i] as number) + fround(weight * (x[i] as number));
}

export const plainKernel: ReduceKernel = {
  name: 'plain',
  weightedSumInto(out, vectors, weights) {
    let isFirst = true;
    vectors.forEach((vector, j) => {
      const weight = fround(weights[j] ?? 0);
      if (weight === 0) return;
      if (isFirst) scaleInto(out, vector, weight);
      else addScaledInto(out, vector, weight);
      isFirst = false;
    });
    if (isFirst) out.fill(0);
  },
  isFinite: isFiniteVector,
};
