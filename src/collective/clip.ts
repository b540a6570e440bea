/**
 * Robust clipping (algorithms.md 4.5): a member whose vector is far from the others' counts as if it were near. In arithmetic
 * alone; who sends what is clip-exchange.ts's. Near relatives: centred clipping (Karimireddy et al., ICML 2021) and the
 * coordinate-wise median (Yin et al., ICML 2018); the rule itself is the project's own, without memory of former groups.
 *
 * With three or more members the centre is the median of each coordinate, which less than half of them cannot move far. With
 * two there is no majority: all that shows is one norm that dwarfs the other.
 */

/** Times the typical distance that a member may be off before it is clipped to the typical one. */
export const FAR_FACTOR = 10;
/** The typical distance is at least this share of the centre's norm: below that nobody does harm. */
export const TYPICAL_LEAST = 0.01;
/** Of two members, the larger norm through the smaller one from which on the larger does not count. */
export const NORM_RATIO_MAX = 100;

function middle(sorted: ArrayLike<number>, count: number): number {
  const half = count >> 1;
  const upper = sorted[half] as number;
  return count % 2 === 1 ? upper : (upper + (sorted[half - 1] as number)) / 2;
}

/** Sorts the first `count` values in place: few, and mostly in order. */
function insertionSort(values: Float64Array, count: number): void {
  for (let i = 1; i < count; i += 1) {
    const value = values[i] as number;
    let j = i;
    for (; j > 0 && (values[j - 1] as number) > value; j -= 1) values[j] = values[j - 1] as number;
    values[j] = value;
  }
}

/** The median of coordinate `i`; `buffer` has room for all members. */
function medianAt(vectors: readonly Float32Array[], i: number, buffer: Float64Array): number {
  for (let j = 0; j < vectors.length; j += 1) buffer[j] = (vectors[j] as Float32Array)[i] as number;
  insertionSort(buffer, vectors.length);
  return middle(buffer, vectors.length);
}

/** Members of weight 0 hold values that mean nothing. */
function countedOf<T>(all: readonly T[], weights: readonly number[]): T[] {
  return all.filter((_, j) => (weights[j] as number) > 0);
}

/**
 * What one part of the vectors has to say: for each member the square of its distance from the centre (of two members: of its
 * norm), 0 for those of weight 0; then the square of the centre's norm. Parts are added up.
 */
export function measurePart(vectors: readonly Float32Array[], weights: readonly number[]): Float64Array {
  const count = vectors.length;
  const squares = new Float64Array(count + 1);
  const counted = countedOf([...vectors.keys()], weights);
  const used = counted.map((j) => vectors[j] as Float32Array);
  const hasCentre = used.length >= 3;
  const buffer = new Float64Array(used.length);
  const length = vectors[0]?.length ?? 0;
  for (let i = 0; i < length; i += 1) {
    const centre = hasCentre ? medianAt(used, i, buffer) : 0;
    squares[count] = (squares[count] as number) + centre * centre;
    for (let u = 0; u < used.length; u += 1) {
      const difference = ((used[u] as Float32Array)[i] as number) - centre;
      const j = counted[u] as number;
      squares[j] = (squares[j] as number) + difference * difference;
    }
  }
  return squares;
}

/** By what each member's difference from the centre is multiplied, of the sum of all parts' measures: 1 where it is near. */
export function clipFactors(squares: Float64Array, weights: readonly number[]): readonly number[] {
  const count = weights.length;
  const distances = Array.from(squares.subarray(0, count), Math.sqrt);
  const counted = countedOf(distances, weights);
  if (counted.length < 2) return distances.map(() => 1);
  if (counted.length === 2) {
    const most = NORM_RATIO_MAX * Math.min(...counted);
    return distances.map((norm) => (most > 0 && norm > most ? 0 : 1));
  }
  const sorted = counted.toSorted((a, b) => a - b);
  const centreNorm = Math.sqrt(squares[count] as number);
  const typical = Math.max(sorted[(sorted.length - 1) >> 1] as number, TYPICAL_LEAST * centreNorm);
  return distances.map((distance) => (distance > FAR_FACTOR * typical ? typical / distance : 1));
}

/**
 * The clipped sum of a part: centre + sum over j of weights[j] * factors[j] * (vectors[j] - centre). `target` may be one of the
 * vectors.
 */
export function clippedSumInto(
  target: Float32Array,
  vectors: readonly Float32Array[],
  { weights, factors }: { readonly weights: readonly number[]; readonly factors: readonly number[] },
): void {
  const used = countedOf(vectors, weights);
  // Of two members the one that counts is the centre.
  const nears = used.length >= 3 ? used : vectors.filter((_, j) => (weights[j] as number) > 0 && factors[j] === 1);
  const scales = countedOf(
    weights.map((weight, j) => weight * (factors[j] as number)),
    weights,
  );
  const ofCentre = 1 - scales.reduce((sum, scale) => sum + scale, 0);
  const buffer = new Float64Array(used.length);
  for (let i = 0; i < target.length; i += 1) {
    let value = ofCentre * medianAt(nears, i, buffer);
    for (let u = 0; u < used.length; u += 1) value += (scales[u] as number) * ((used[u] as Float32Array)[i] as number);
    target[i] = value;
  }
}
