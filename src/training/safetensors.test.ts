import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  decodeSafetensors,
  encodeSafetensors,
  type NamedTensor,
  readSafetensors,
  tensorsOfModel,
  tensorsOfVector,
  writeSafetensors,
} from './safetensors.js';

const tensors: readonly NamedTensor[] = [
  { name: 'layer.weight', shape: [2, 3], values: Float32Array.from([1, -2, 3.5, 4e-20, Number.NaN, Infinity]) },
  { name: 'layer.bias', shape: [3], values: Float32Array.from([0, -0, 1]) },
  { name: 'scale', shape: [], values: Float32Array.from([0.1]) },
  { name: 'nothing', shape: [0, 7], values: new Float32Array(0) },
  { name: '__proto__', shape: [1], values: Float32Array.from([7]) },
  { name: '7', shape: [1], values: Float32Array.from([8]) },
];

/** A file with this header text and these values' bytes. */
function file(header: string, data: Uint8Array = new Uint8Array(0)): Uint8Array {
  const text = new TextEncoder().encode(header);
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
  return Buffer.concat([length, text, data]);
}

function headerOf(entries: Readonly<Record<string, readonly [number, number]>>): string {
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(entries).map(([name, offsets]) => [
        name,
        { dtype: 'F32', shape: [(offsets[1] - offsets[0]) / 4], data_offsets: offsets },
      ]),
    ),
  );
}

describe('encodeSafetensors and decodeSafetensors', () => {
  it('give back what went in', () => {
    const decoded = decodeSafetensors(encodeSafetensors(tensors, { run: 'a "name"', k: '12' }));
    expect(decoded.tensors).toEqual(tensors);
    expect(decoded.metadata).toEqual({ run: 'a "name"', k: '12' });
    expect(decodeSafetensors(encodeSafetensors([]))).toEqual({ tensors: [], metadata: {} });
  });

  it('give the bytes that the format asks for', () => {
    const bytes = encodeSafetensors([{ name: 'x', shape: [2], values: Float32Array.from([1, -2]) }], { a: 'b' });
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const headerBytes = Number(view.getBigUint64(0, true));
    expect(headerBytes % 8).toBe(0);
    expect(bytes.length).toBe(8 + headerBytes + 8);
    expect(JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerBytes)))).toEqual({
      __metadata__: { a: 'b' },
      x: { dtype: 'F32', shape: [2], data_offsets: [0, 8] },
    });
    expect([view.getFloat32(8 + headerBytes, true), view.getFloat32(12 + headerBytes, true)]).toEqual([1, -2]);
  });

  it('reads tensors in the order of their bytes, from within a larger buffer, aligned or not', () => {
    const data = new Uint8Array(Float32Array.from([1, 2, 3]).buffer);
    const whole = file(headerOf({ late: [4, 12], early: [0, 4] }), data);
    const shifted = Buffer.concat([Buffer.from([9]), whole, Buffer.from([9])]).subarray(1, 1 + whole.length);
    expect(decodeSafetensors(shifted).tensors).toEqual([
      { name: 'early', shape: [1], values: Float32Array.from([1]) },
      { name: 'late', shape: [2], values: Float32Array.from([2, 3]) },
    ]);
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['nothing', new Uint8Array(0), /truncated/],
    ['a header length beyond the limit', Buffer.alloc(8, 0xff), /above the limit/],
    ['a header longer than the file', file('{}').subarray(0, 9), /truncated within its header/],
    ['a header that is no JSON', file('{"x":'), /no JSON/],
    ['a header that is not UTF-8', Buffer.concat([file('').fill(2, 0, 1), Buffer.from([0xff, 0xfe])]), /no JSON/],
    ['a header that is a list', file('[]'), /no object/],
    ['an entry without offsets', file('{"x":{"dtype":"F32","shape":[1]}}'), /malformed header entry for tensor "x"/],
    ['a negative size', file('{"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}'), /malformed/],
    ['metadata of numbers', file('{"__metadata__":{"k":1}}'), /metadata/],
    ['another type', file('{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}', Buffer.alloc(4)), /type BF16/],
    ['ranges that overlap', file(headerOf({ a: [0, 8], b: [4, 12] }), Buffer.alloc(12)), /"b" at byte 4 where 8/],
    ['ranges with a gap', file(headerOf({ a: [0, 4], b: [8, 12] }), Buffer.alloc(12)), /overlap or leave a gap/],
    ['a range that ends before it begins', file('{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}'), /at byte 4/],
    [
      'a shape that does not fit its range',
      file('{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}', Buffer.alloc(4)),
      /4 bytes for tensor "x"/,
    ],
    ['values missing', file(headerOf({ a: [0, 8] }), Buffer.alloc(7)), /7 bytes of values/],
    ['bytes left over', file(headerOf({ a: [0, 8] }), Buffer.alloc(9)), /9 bytes of values/],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => decodeSafetensors(bytes, 'model.safetensors')).toThrow(
      expect.objectContaining({ code: 'bad-data', message: expect.stringMatching(message) }),
    );
  });

  it('refuses a file truncated at any byte', () => {
    const whole = encodeSafetensors(tensors.slice(0, 2));
    for (let length = 0; length < whole.length; length += 1) {
      expect(() => decodeSafetensors(whole.subarray(0, length)), `${length} bytes`).toThrow('truncated');
    }
  });

  it.each<[string, readonly NamedTensor[]]>([
    ['two tensors of one name', [tensors[1] as NamedTensor, tensors[1] as NamedTensor]],
    ['the name of the metadata', [{ name: '__metadata__', shape: [], values: new Float32Array(1) }]],
    ['a shape that does not fit', [{ name: 'x', shape: [2], values: new Float32Array(3) }]],
  ])('asserts against %s', (_, wrong) => {
    expect(() => encodeSafetensors(wrong)).toThrow('assertion failed');
  });
});

describe('tensorsOfVector', () => {
  const layout = [
    { name: 'w', shape: [2, 2] },
    { name: 'b', shape: [2] },
  ];

  it('gives views in order', () => {
    const vector = Float32Array.from([1, 2, 3, 4, 5, 6]);
    const [w, b] = tensorsOfVector(layout, vector);
    expect(w).toEqual({ name: 'w', shape: [2, 2], values: Float32Array.from([1, 2, 3, 4]) });
    expect(b?.values.buffer).toBe(vector.buffer);
    expect([...(b?.values ?? [])]).toEqual([5, 6]);
  });

  it('asserts that the vector fits', () => {
    expect(() => tensorsOfVector(layout, new Float32Array(7))).toThrow('a layout of 6 values for a vector of 7');
  });
});

it('tensorsOfModel gives parameters, then running statistics', () => {
  const model = {
    layout: [{ name: 'norm.weight', shape: [2] }],
    parameters: Float32Array.of(1, 2),
    auxiliaryLayout: [
      { name: 'norm.running_mean', shape: [2] },
      { name: 'norm.running_var', shape: [1, 2] },
    ],
    auxiliary: Float32Array.of(3, 4, 5, 6),
  };
  expect(tensorsOfModel(model)).toEqual([
    { name: 'norm.weight', shape: [2], values: Float32Array.of(1, 2) },
    { name: 'norm.running_mean', shape: [2], values: Float32Array.of(3, 4) },
    { name: 'norm.running_var', shape: [1, 2], values: Float32Array.of(5, 6) },
  ]);
});

describe('writeSafetensors and readSafetensors', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'preduce-safetensors-'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('write the encoded bytes, replace an older file and leave nothing else', async () => {
    const path = join(folder, 'model.safetensors');
    await writeFile(path, 'old');
    await writeSafetensors(path, tensors, { k: '3' });
    expect(Buffer.compare(await readFile(path), encodeSafetensors(tensors, { k: '3' }))).toBe(0);
    expect((await readSafetensors(path)).metadata).toEqual({ k: '3' });
    expect(await readdir(folder)).toEqual(['model.safetensors']);
  });

  it('leave nothing behind when the file cannot be put in place', async () => {
    const path = join(folder, 'taken');
    await mkdir(join(path, 'full'), { recursive: true });
    await expect(writeSafetensors(path, tensors)).rejects.toMatchObject({ code: 'out-dir-unusable' });
    await expect(writeSafetensors(join(folder, 'no', 'where'), tensors)).rejects.toMatchObject({
      code: 'out-dir-unusable',
    });
    expect(await readdir(folder)).toEqual(['taken']);
  });

  it('say which file is missing or damaged', async () => {
    const path = join(folder, 'model.safetensors');
    await expect(readSafetensors(path)).rejects.toMatchObject({
      code: 'data-missing',
      message: expect.stringContaining(path),
    });
    await writeFile(path, 'not a model');
    await expect(readSafetensors(path)).rejects.toMatchObject({
      code: 'bad-data',
      message: expect.stringContaining(path),
    });
  });
});
