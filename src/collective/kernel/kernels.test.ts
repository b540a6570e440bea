/**
 * Both kernels give the same bits, and those are the weighted sum. The SIMD one needs `npm run build:wasm`.
 */
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../base/random.js';
import { plainKernel } from './plain-kernel.js';
import { createVectorMemory, openVectorMemory } from './vector-memory.js';

const WASM = new URL('../../../dist/collective/kernel/kernels.wasm', import.meta.url);
const LENGTHS = [0, 1, 3, 31, 32, 33, 64, 1000, 7919];
const COUNTS = [1, 2, 3, 5, 16];

interface Vectors {
  readonly out: Float32Array;
  readonly inputs: readonly Float32Array[];
  readonly weights: readonly number[];
}

/** Vectors one after another in the memory's scratch, `gap` values apart: not aligned to a register's size. */
function cut(scratch: Float32Array, length: number, count: number, gap: number): Vectors {
  const random = createRandom(length * 100 + count);
  const at = (j: number): Float32Array => scratch.subarray(j * (length + gap), j * (length + gap) + length);
  const inputs = Array.from({ length: count }, (_, j) => at(j + 1));
  for (const input of inputs)
    for (let i = 0; i < length; i += 1) input[i] = random.normal() * 10 ** (random.below(9) - 4);
  const raw = inputs.map(() => random.next());
  const sum = raw.reduce((a, b) => a + b, 0);
  return { out: at(0), inputs, weights: raw.map((weight) => weight / sum) };
}

function bitsOf(vector: Float32Array): Uint32Array {
  return new Uint32Array(vector.slice().buffer);
}

const memory = createVectorMemory(200_000);
const simdKernel = await memory.loadKernel(WASM);
const cases = LENGTHS.flatMap((length) => COUNTS.flatMap((count) => [0, 1].map((gap) => ({ length, count, gap }))));

describe('the SIMD kernel', () => {
  it('is built (`npm run build:wasm`) and runs here', () => {
    expect(simdKernel.name).toBe('simd');
  });

  it.each(cases)('gives the bits of the plain one: $count vectors of $length, gap $gap', ({ length, count, gap }) => {
    const { out, inputs, weights } = cut(memory.scratch, length, count, gap);
    const expected = new Float32Array(length);
    plainKernel.weightedSumInto(expected, inputs, weights);
    out.fill(Number.NaN);
    simdKernel.weightedSumInto(out, inputs, weights);
    expect(bitsOf(out)).toEqual(bitsOf(expected));
  });

  it.each(cases)('sums into the first of $count vectors of $length, gap $gap', ({ length, count, gap }) => {
    for (const kernel of [plainKernel, simdKernel]) {
      for (const weightOfFirst of [1, 0]) {
        const { out, inputs, weights } = cut(memory.scratch, length, count, gap);
        const [first = out] = inputs;
        const factors = [weightOfFirst, ...weights.slice(1)];
        if (weightOfFirst === 0) first.fill(Number.NaN);
        kernel.weightedSumInto(out, inputs, factors);
        kernel.weightedSumInto(first, inputs, factors);
        expect(bitsOf(first)).toEqual(bitsOf(out));
        expect(first.some(Number.isNaN)).toBe(false);
      }
    }
  });

  it('sums vectors that lie elsewhere, too', () => {
    const inputs = [Float32Array.of(1, 2, 3), Float32Array.of(5, 6, 7)];
    const out = new Float32Array(3);
    simdKernel.weightedSumInto(out, inputs, [0.25, 0.75]);
    expect([...out]).toEqual([4, 5, 6]);
  });
});

describe.each([plainKernel, simdKernel])('the $name kernel', (kernel) => {
  it.each(cases)('sums $count vectors of $length', ({ length, count, gap }) => {
    const { out, inputs, weights } = cut(memory.scratch, length, count, gap);
    kernel.weightedSumInto(out, inputs, weights);
    let worst = 0;
    for (let i = 0; i < length; i += 1) {
      const terms = inputs.map((input, j) => (weights[j] as number) * (input[i] as number));
      const size = terms.reduce((sum, term) => sum + Math.abs(term), 0);
      const error = Math.abs((out[i] as number) - terms.reduce((sum, term) => sum + term, 0));
      worst = Math.max(worst, error / ((count + 1) * 2 ** -24 * size + 2 ** -149));
    }
    expect(worst).toBeLessThanOrEqual(1);
  });

  it('skips a vector of weight 0, whatever it holds', () => {
    const { out, inputs } = cut(memory.scratch, 100, 3, 0);
    inputs[1]?.fill(Number.NaN);
    kernel.weightedSumInto(out, inputs, [0.5, 0, 0.5]);
    expect(out.every(Number.isFinite)).toBe(true);
    inputs[0]?.fill(Number.POSITIVE_INFINITY);
    kernel.weightedSumInto(out, inputs, [0, 0, 1]);
    expect(bitsOf(out)).toEqual(bitsOf(inputs[2] as Float32Array));
  });

  it.each([0, 1, 15, 16, 17, 100])('takes %i values for finite, the largest and the smallest too', (length) => {
    const extremes = [3.4028234663852886e38, -3.4028234663852886e38, 2 ** -149, -0];
    const vector = memory.scratch.subarray(3, 3 + length);
    for (let i = 0; i < length; i += 1) vector[i] = extremes[i % 4] as number;
    expect(kernel.isFinite(vector)).toBe(true);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('finds %d wherever it is', (value) => {
    const vector = memory.scratch.subarray(5, 5 + 37);
    for (let at = 0; at < vector.length; at += 1) {
      vector.fill(1);
      vector[at] = value;
      expect(kernel.isFinite(vector), `at ${at}`).toBe(false);
    }
  });

  it('gives zeroes when nobody weighs anything', () => {
    const { out, inputs } = cut(memory.scratch, 40, 2, 0);
    out.fill(7);
    kernel.weightedSumInto(out, inputs, [0, 0]);
    expect(out.every((value) => value === 0)).toBe(true);
  });
});

describe('the vectors’ memory', () => {
  it('is the same from both sides, and its parts do not overlap', () => {
    const near = createVectorMemory(1001);
    const far = openVectorMemory(structuredClone(near.shared));
    near.input.fill(1);
    near.output.fill(2);
    near.scratch.fill(3);
    expect([far.input.length, far.output.length]).toEqual([1001, 1001]);
    expect(far.scratch.length).toBeGreaterThanOrEqual(1001);
    expect([new Set(far.input), new Set(far.output), new Set(far.scratch)]).toEqual(
      [1, 2, 3].map((value) => new Set([value])),
    );
  });

  it('gets the plain kernel where the module is missing', async () => {
    const { name } = await createVectorMemory(10).loadKernel(new URL('./nothing.wasm', WASM));
    expect(name).toBe('plain');
  });
});
