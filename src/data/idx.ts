/**
 * The IDX format, in which MNIST and its relatives are published: a magic number that holds the element type and the
 * number of dimensions, the sizes (32-bit, big-endian), then the values. Source: the format's description on the MNIST
 * page of Y. LeCun, C. Cortes and C. Burges. Only unsigned bytes are read here: no image set uses another type.
 */
import { PreduceError } from '../base/errors.js';

export interface IdxArray {
  /** Sizes, outermost first. */
  readonly shape: readonly number[];
  /** All values, row after row: a view of the bytes that were parsed, not a copy. */
  readonly values: Uint8Array;
}

const UNSIGNED_BYTE = 0x08;

const OTHER_TYPES: Readonly<Record<number, string>> = {
  0x09: 'signed bytes',
  0x0b: '16-bit integers',
  0x0c: '32-bit integers',
  0x0d: '32-bit floats',
  0x0e: '64-bit floats',
};

/**
 * Reads a whole IDX file of unsigned bytes. `name` is what error messages call it.
 * Throws `bad-data` for anything that is foreign, of another type, truncated or too long.
 */
export function parseIdx(bytes: Uint8Array, name = 'the data'): IdxArray {
  const fail = (found: string): never => {
    throw new PreduceError('bad-data', `expected ${name} to be an IDX file of unsigned bytes, got ${found}`);
  };
  if (bytes.length < 4) fail(`${bytes.length} bytes: the file is empty or truncated`);
  const [zero0, zero1, type, dimensionCount] = bytes as unknown as [number, number, number, number];
  if (zero0 !== 0 || zero1 !== 0 || (type !== UNSIGNED_BYTE && OTHER_TYPES[type] === undefined)) {
    fail(`a file that begins with ${hex(bytes.subarray(0, 4))}: it is of another format`);
  }
  if (type !== UNSIGNED_BYTE) fail(`${OTHER_TYPES[type]}`);
  if (dimensionCount === 0) fail('an array without dimensions');

  const headerBytes = 4 + 4 * dimensionCount;
  if (bytes.length < headerBytes) fail(`a file truncated within its header (${bytes.length} of ${headerBytes} bytes)`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, headerBytes);
  const shape = Array.from({ length: dimensionCount }, (_, i) => view.getUint32(4 + 4 * i, false));

  const expected = shape.reduce((product, size) => product * size, 1);
  const found = bytes.length - headerBytes;
  if (found < expected)
    fail(`a truncated file: ${found} of the ${expected} values that its shape ${shape.join('x')} asks for`);
  if (found > expected) fail(`${found - expected} bytes more than its shape ${shape.join('x')} asks for`);
  return { shape, values: bytes.subarray(headerBytes) };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
}
