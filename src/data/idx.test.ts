import { describe, expect, it } from 'vitest';
import { parseIdx } from './idx.js';

function idx(type: number, shape: readonly number[], values: readonly number[]): Uint8Array {
  const sizes = shape.flatMap((size) => [size >>> 24, (size >>> 16) & 255, (size >>> 8) & 255, size & 255]);
  return Uint8Array.from([0, 0, type, shape.length, ...sizes, ...values]);
}

describe('parseIdx', () => {
  it('reads sizes and values', () => {
    expect(parseIdx(idx(8, [2, 1, 3], [1, 2, 3, 4, 5, 255]))).toEqual({
      shape: [2, 1, 3],
      values: Uint8Array.from([1, 2, 3, 4, 5, 255]),
    });
    expect(parseIdx(idx(8, [300], Array(300).fill(7))).shape).toEqual([300]);
    expect(parseIdx(idx(8, [0, 28, 28], [])).values.length).toBe(0);
  });

  it('reads from within a larger buffer', () => {
    const whole = Uint8Array.from([9, 9, 9, ...idx(8, [2], [5, 6]), 9]);
    expect(parseIdx(whole.subarray(3, whole.length - 1))).toEqual({ shape: [2], values: Uint8Array.from([5, 6]) });
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['nothing', new Uint8Array(0), /empty or truncated/],
    ['three bytes', Uint8Array.from([0, 0, 8]), /empty or truncated/],
    ['a PNG', Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 0]), /begins with 89 50 4e 47/],
    ['zeros that are no type', idx(7, [1], [1]), /another format/],
    ['floats', idx(0x0d, [1], [0, 0, 0, 0]), /32-bit floats/],
    ['no dimensions', Uint8Array.from([0, 0, 8, 0]), /without dimensions/],
    ['half a header', idx(8, [2, 2], []).subarray(0, 9), /truncated within its header \(9 of 12 bytes\)/],
    ['one value too few', idx(8, [2, 2], [1, 2, 3]), /3 of the 4 values/],
    ['one value too many', idx(8, [2, 2], [1, 2, 3, 4, 5]), /1 bytes more/],
    ['sizes beyond any memory', idx(8, Array(200).fill(0xffffffff), []), /truncated/],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => parseIdx(bytes, 'some-file')).toThrow(
      expect.objectContaining({ code: 'bad-data', message: expect.stringMatching(message) }),
    );
    expect(() => parseIdx(bytes, 'some-file')).toThrow('some-file');
  });

  it('refuses a file truncated at any byte', () => {
    const whole = idx(8, [3, 2], [1, 2, 3, 4, 5, 6]);
    for (let length = 0; length < whole.length; length += 1) {
      expect(() => parseIdx(whole.subarray(0, length)), `${length} bytes`).toThrow('truncated');
    }
  });
});
