/**
 * Inputs for a reader: noise, or good examples damaged in the ways in which files and streams are (and in those that find
 * mistakes): bits, lengths and numbers at their limits, parts lost, doubled, mixed up.
 */
import type { Random } from '../base/random.js';

/** Numbers at which readers go wrong, as 32 bits. */
const EDGES_32 = [0, 1, 3, 4, 255, 256, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff] as const;

/** Texts at which they do. */
const EDGE_TEXTS = [
  '-1',
  '0',
  '1e999',
  '1e308',
  '-0',
  '0.1',
  '4294967296',
  '9007199254740993',
  'null',
  'true',
  '""',
  '[]',
  '{}',
  '[[',
  '{"a":',
  '"\\u0000"',
  '"\\ud800"',
  '"__proto__"',
  '"constructor"',
  ',',
  '\n',
  '\r\n',
  '\u0000',
  '&a *a',
  '!!js/function',
  '? ',
  '---',
  '%',
  '\ufeff',
] as const;

const NOISE_BYTES_MAX = 600;
const STEPS_MAX = 4;
/** Whatever happens, an input is no longer. */
const INPUT_BYTES_MAX = 64 * 1024;

type Mutation = (bytes: Uint8Array, random: Random, examples: readonly Uint8Array[]) => Uint8Array;

function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

/** A random range of a text of so many bytes, short ones more often. */
function rangeOf(length: number, random: Random): readonly [number, number] {
  const start = random.below(length + 1);
  const most = [4, 16, length][random.below(3)] as number;
  return [start, Math.min(length, start + random.below(most + 1))];
}

/** `change`, where there is a byte to change. */
function onCopy(change: (copy: Uint8Array, at: number, random: Random) => void): Mutation {
  return (bytes, random) => {
    if (bytes.length === 0) return bytes;
    // An example may be a Buffer, whose slices are the same memory.
    const copy = Uint8Array.from(bytes);
    change(copy, random.below(copy.length), random);
    return copy;
  };
}

const MUTATIONS: readonly Mutation[] = [
  onCopy((copy, at, random) => {
    copy[at] = (copy[at] as number) ^ (1 << random.below(8));
  }),
  onCopy((copy, at, random) => {
    copy[at] = random.below(256);
  }),
  // A length or a count, in either order of bytes, mostly where numbers lie in headers.
  onCopy((copy, at, random) => {
    const place = Math.min(at - (at % 4), copy.length - 4);
    if (place < 0) return;
    const value = EDGES_32[random.below(EDGES_32.length)] as number;
    new DataView(copy.buffer).setUint32(place, value, random.below(2) === 0);
  }),
  (bytes, random) => bytes.slice(0, random.below(bytes.length + 1)),
  (bytes, random) => {
    const [start, end] = rangeOf(bytes.length, random);
    return concat(bytes.subarray(0, start), bytes.subarray(end));
  },
  (bytes, random) => {
    const [start, end] = rangeOf(bytes.length, random);
    return concat(bytes.subarray(0, end), bytes.subarray(start, end), bytes.subarray(end));
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    return concat(bytes.subarray(0, at), noise(random, 8), bytes.subarray(at));
  },
  // One token of a text for another.
  (bytes, random) => {
    const text = Buffer.from(bytes).toString('latin1');
    const tokens = [...text.matchAll(/-?\d+(\.\d+)?|"[^"]*"|null|true|false|[a-z]+/g)];
    const token = tokens[random.below(Math.max(1, tokens.length))];
    if (token === undefined) return bytes;
    const edge = EDGE_TEXTS[random.below(EDGE_TEXTS.length)] as string;
    const after = token.index + token[0].length;
    return concat(bytes.subarray(0, token.index), Buffer.from(edge), bytes.subarray(after));
  },
  // The beginning of one and the end of another.
  (bytes, random, examples) => {
    const other = examples[random.below(examples.length)] as Uint8Array;
    return concat(bytes.subarray(0, random.below(bytes.length + 1)), other.subarray(random.below(other.length + 1)));
  },
  // Nested, as deep as a recursion does not go.
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    const nested = (['[', '{"a":', '- ', '(', '['][random.below(5)] as string).repeat(1 + random.below(3000));
    return concat(bytes.subarray(0, at), Buffer.from(nested), bytes.subarray(at));
  },
];

export function noise(random: Random, bytesMax = NOISE_BYTES_MAX): Uint8Array {
  return Uint8Array.from({ length: random.below(bytesMax + 1) }, () => random.below(256));
}

/** One input. An example that nothing was done to is one in some dozens. */
export function createInput(random: Random, examples: readonly Uint8Array[]): Uint8Array {
  if (random.below(10) === 0) return noise(random);
  let bytes = examples[random.below(examples.length)] as Uint8Array;
  for (let steps = random.below(STEPS_MAX + 1); steps > 0; steps -= 1) {
    bytes = (MUTATIONS[random.below(MUTATIONS.length)] as Mutation)(bytes, random, examples);
  }
  return bytes.length > INPUT_BYTES_MAX ? bytes.slice(0, INPUT_BYTES_MAX) : bytes;
}
