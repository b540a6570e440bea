/**
 * Seeded random numbers: every random choice of a run comes from one of these, so that a seed reproduces it.
 * The generator is xoshiro128** (Blackman and Vigna, 2018) seeded through splitmix32.
 */

/** A seeded source of random numbers; not for secrets. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, bound). */
  below(bound: number): number;
  /** Standard normal (mean 0, variance 1). */
  normal(): number;
  /** A generator of its own, decided by this one's seed and `stream` alone: drawing from one does not move the other. */
  fork(stream: number): Random;
}

const UINT32 = 2 ** 32;

function splitmix32(state: number): number {
  let z = (state + 0x9e3779b9) | 0;
  z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
  z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
  return (z ^ (z >>> 16)) >>> 0;
}

function rotateLeft(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

/** Creates a generator; equal seeds (any number, its integer part modulo 2^32 counts) give equal sequences. */
export function createRandom(seed: number): Random {
  const origin = Math.floor(seed) >>> 0;
  let a = splitmix32(origin);
  let b = splitmix32(a ^ 0x243f6a88);
  let c = splitmix32(b ^ 0x85a308d3);
  let d = splitmix32(c ^ 0x13198a2e) | 1;
  let spareNormal: number | null = null;

  function nextUint32(): number {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotateLeft(d, 11);
    return result;
  }

  function next(): number {
    // 53 bits, as Math.random gives
    const high = nextUint32() >>> 5;
    const low = nextUint32() >>> 6;
    return (high * 2 ** 26 + low) / 2 ** 53;
  }

  function normal(): number {
    if (spareNormal !== null) {
      const spare = spareNormal;
      spareNormal = null;
      return spare;
    }
    // Box-Muller; 1 - next() keeps the logarithm finite
    const radius = Math.sqrt(-2 * Math.log(1 - next()));
    const angle = 2 * Math.PI * next();
    spareNormal = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  return {
    next,
    below: (bound) => Math.floor(next() * bound),
    normal,
    fork: (stream) => createRandom(splitmix32(origin ^ splitmix32((stream + 1) % UINT32))),
  };
}

/** Shuffles `values` in place (Fisher-Yates) and returns them. */
export function shuffle<T extends { [index: number]: number; readonly length: number }>(values: T, random: Random): T {
  for (let i = values.length - 1; i > 0; i -= 1) {
    const j = random.below(i + 1);
    const held = values[i] as number;
    values[i] = values[j] as number;
    values[j] = held;
  }
  return values;
}
