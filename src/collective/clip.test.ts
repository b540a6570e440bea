import { describe, expect, it } from 'vitest';
import { createRandom } from '../base/random.js';
import { clipFactors, clippedSumInto, measurePart } from './clip.js';

/** The rule as algorithms.md 4.5 says it, on whole vectors and in plain arithmetic. */
function reference(vectors: readonly number[][], weights: readonly number[]): { result: number[]; factors: number[] } {
  const used = vectors.flatMap((vector, j) => ((weights[j] as number) > 0 ? [{ vector, j }] : []));
  const length = vectors[0]?.length ?? 0;
  const norm = (vector: readonly number[]) => Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  const coordinates = Array.from({ length }, (_, i) => i);
  const median = coordinates.map((i) => {
    const sorted = used.map(({ vector }) => vector[i] as number).sort((a, b) => a - b);
    const half = Math.floor(sorted.length / 2);
    return sorted.length % 2 === 1
      ? (sorted[half] as number)
      : ((sorted[half - 1] as number) + (sorted[half] as number)) / 2;
  });
  let centre = median;
  const factors = vectors.map(() => 1);
  if (used.length === 2) {
    const [a, b] = used.map(({ vector }) => norm(vector)) as [number, number];
    const [small, large] = a <= b ? [0, 1] : [1, 0];
    if (Math.min(a, b) > 0 && Math.max(a, b) > 100 * Math.min(a, b)) {
      factors[used[large]?.j as number] = 0;
      centre = used[small]?.vector as number[];
    }
  } else if (used.length > 2) {
    const distances = used.map(({ vector }) =>
      norm(coordinates.map((i) => (vector[i] as number) - (centre[i] as number))),
    );
    const sorted = [...distances].sort((a, b) => a - b);
    const typical = Math.max(sorted[Math.floor((sorted.length - 1) / 2)] as number, 0.01 * norm(centre));
    used.forEach(({ j }, u) => {
      const distance = distances[u] as number;
      if (distance > 10 * typical) factors[j] = typical / distance;
    });
  }
  const result = coordinates.map((i) =>
    used.reduce(
      (sum, { vector, j }) =>
        sum + (weights[j] as number) * (factors[j] as number) * ((vector[i] as number) - (centre[i] as number)),
      centre[i] as number,
    ),
  );
  return { result, factors };
}

/** In parts, as members do. */
function clipped(
  vectors: readonly number[][],
  weights: readonly number[],
  cut = 3,
): { result: number[]; factors: number[] } {
  const whole = vectors.map((vector) => Float32Array.from(vector));
  const length = whole[0]?.length ?? 0;
  const parts = [
    [0, cut],
    [cut, length],
  ] as const;
  const slicesOf = ([start, end]: readonly [number, number]) => whole.map((vector) => vector.subarray(start, end));
  const squares = new Float64Array(vectors.length + 1);
  for (const part of parts)
    measurePart(slicesOf(part), weights).forEach((square, i) => (squares[i] = (squares[i] as number) + square));
  const factors = clipFactors(squares, weights);
  const result = new Float32Array(length);
  for (const part of parts) clippedSumInto(result.subarray(...part), slicesOf(part), { weights, factors });
  return { result: [...result], factors: [...factors] };
}

function expectSame(vectors: readonly number[][], weights: readonly number[]): readonly number[] {
  const float = vectors.map((vector) => [...Float32Array.from(vector)]);
  const expected = reference(float, weights);
  const got = clipped(float, weights);
  got.factors.forEach((factor, j) => expect(factor).toBeCloseTo(expected.factors[j] as number, 12));
  const size = Math.max(...expected.result.map(Math.abs), 1e-30);
  got.result.forEach((value, i) => expect(Math.abs(value - (expected.result[i] as number)) / size).toBeLessThan(1e-6));
  return got.factors;
}

describe('clipping', () => {
  const near = [
    [1, 2, 3, 4, 5],
    [1.1, 2.1, 2.9, 4.2, 5],
    [0.9, 2, 3.1, 4, 4.8],
  ];
  const scaled = (vector: readonly number[]) => vector.map((value) => 1e6 * value);

  it('leaves members alone that are near each other', () => {
    expect(expectSame(near, [0.2, 0.3, 0.5])).toEqual([1, 1, 1]);
  });

  it.each([0, 1, 2])('bounds member %i of three, its values times 1e6, to a typical distance', (bad) => {
    const vectors = near.map((vector, j) => (j === bad ? scaled(vector) : vector));
    const weights = [0.2, 0.3, 0.5];
    const factors = expectSame(vectors, weights);
    expect(factors.map((factor) => factor < 1)).toEqual([0, 1, 2].map((j) => j === bad));
    for (const [i, value] of clipped(vectors, weights).result.entries()) {
      expect(Math.abs(value - (near[0]?.[i] as number))).toBeLessThan(1);
    }
  });

  it('bounds two of five', () => {
    const vectors = [...near, scaled([1, 1, 1, 1, 1]), scaled([-1, 2, -1, 2, -1])];
    expect(expectSame(vectors, [0.2, 0.2, 0.2, 0.2, 0.2]).slice(0, 3)).toEqual([1, 1, 1]);
  });

  it('takes of two the smaller where the larger dwarfs it, and both otherwise', () => {
    const [a, b] = near as [number[], number[]];
    expect(expectSame([a, b], [0.4, 0.6])).toEqual([1, 1]);
    expect(expectSame([a, scaled(b)], [0.4, 0.6])).toEqual([1, 0]);
    expect(expectSame([scaled(a), b], [0.4, 0.6])).toEqual([0, 1]);
    expect(clipped([scaled(a), b], [0.4, 0.6]).result).toEqual([...Float32Array.from(b)]);
    // From nothing everything is far: a model may begin with zeros.
    expect(expectSame([[0, 0, 0, 0, 0], a], [0.5, 0.5])).toEqual([1, 1]);
  });

  it('has the test vectors of docs/algorithms.md', () => {
    const third = 1 / 3;
    expect(clipped([[1], [2], [3_000_000]], [third, third, third], 1).result[0]).toBeCloseTo(2, 6);
    expect(clipped([[5], [4_000_000]], [0.5, 0.5], 1).result).toEqual([5]);
  });

  it('does not look at members of weight 0', () => {
    const nothing = [Number.NaN, Number.POSITIVE_INFINITY, 1, 2, 3];
    const [a, b] = near as [number[], number[]];
    expect(clipped([a, nothing, scaled(b)], [0.5, 0, 0.5]).result).toEqual(a);
    expect(clipped([nothing, ...near], [0, 0.25, 0.25, 0.5]).factors).toEqual([1, 1, 1, 1]);
    expect(clipped([nothing, a], [0, 1]).result).toEqual(a);
  });

  it('takes no harmless difference for a large one: equal members and one that has moved a little', () => {
    const moved = near[0]?.map((value) => value * 1.05) as number[];
    expect(expectSame([near[0] as number[], near[0] as number[], moved], [1 / 3, 1 / 3, 1 / 3])).toEqual([1, 1, 1]);
  });

  it('is as the reference for random members, weights and outliers', () => {
    const random = createRandom(7);
    let bounded = 0;
    for (let trial = 0; trial < 200; trial += 1) {
      const count = 2 + random.below(6);
      const raw = Array.from({ length: count }, () => random.next());
      const total = raw.reduce((sum, value) => sum + value, 0);
      const vectors = raw.map(() => {
        const size = random.next() < 0.2 ? 1e6 : 1;
        return Array.from({ length: 5 }, () => size * (1 + 0.1 * random.normal()));
      });
      const factors = expectSame(
        vectors,
        raw.map((value) => value / total),
      );
      if (factors.some((factor) => factor < 1)) bounded += 1;
    }
    expect(bounded).toBeGreaterThan(50);
  });
});
