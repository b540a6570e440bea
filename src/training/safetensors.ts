/**
 * The safetensors format: a length (64-bit, little-endian), a JSON header with each tensor's type, shape and byte
 * range, then the values. Source: the format's description in huggingface/safetensors; like the implementation there we
 * refuse ranges that overlap or leave gaps. Only float32 is written and read: a replica has no other type.
 */
import { open, readFile, rename, rm } from 'node:fs/promises';
import { endianness } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { assert } from '../base/assert.js';
import { messageOf, PreduceError } from '../base/errors.js';
import type { Model } from '../engine/model.js';
import type { Layout } from '../wire/messages.js';

export interface NamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /** Row after row; as many as the shape multiplies to. */
  readonly values: Float32Array;
}

export interface SafetensorsContent {
  /** In the order of their bytes in the file. */
  readonly tensors: readonly NamedTensor[];
  readonly metadata: Readonly<Record<string, string>>;
}

const LENGTH_BYTES = 8;
const VALUE_BYTES = 4;
/** The reference implementation's own limit. */
const HEADER_BYTES_MAX = 100_000_000;
const METADATA_KEY = '__metadata__';

const size = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const entrySchema = z.object({ dtype: z.string(), shape: z.array(size), data_offsets: z.tuple([size, size]) });
const metadataSchema = z.record(z.string(), z.string());

/** The tensors of a flat vector, as views of it, in the layout's order. */
export function tensorsOfVector(layout: Layout, vector: Float32Array): NamedTensor[] {
  let start = 0;
  const tensors = layout.map(({ name, shape }) => {
    const end = start + elementCount(shape);
    const values = vector.subarray(start, end);
    start = end;
    return { name, shape, values };
  });
  assert(start === vector.length, `a layout of ${start} values for a vector of ${vector.length}`);
  return tensors;
}

/** Everything that a model needs to evaluate: its parameters, then its running statistics. */
export function tensorsOfModel(
  model: Pick<Model, 'layout' | 'parameters' | 'auxiliaryLayout' | 'auxiliary'>,
): NamedTensor[] {
  return [
    ...tensorsOfVector(model.layout, model.parameters),
    ...tensorsOfVector(model.auxiliaryLayout, model.auxiliary),
  ];
}

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

/** A copy, or on a little-endian machine a view, of the values' bytes in the file's order. */
function toFileBytes(values: Float32Array): Uint8Array {
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return endianness() === 'LE' ? bytes : Buffer.from(bytes).swap32();
}

function encodeHeader(tensors: readonly NamedTensor[], metadata: Readonly<Record<string, string>>): Uint8Array {
  const names = new Set([METADATA_KEY, ...tensors.map((tensor) => tensor.name)]);
  assert(names.size === tensors.length + 1, 'tensor names must differ from one another and from __metadata__');
  let offset = 0;
  const entries = tensors.map(({ name, shape, values }) => {
    assert(
      elementCount(shape) === values.length,
      `tensor ${name}: ${values.length} values for shape ${shape.join('x')}`,
    );
    const begin = offset;
    offset += values.byteLength;
    return [name, { dtype: 'F32', shape, data_offsets: [begin, offset] }] as const;
  });
  const json = JSON.stringify(Object.fromEntries([[METADATA_KEY, metadata], ...entries]));
  const text = new TextEncoder().encode(json);
  // Spaces up to a multiple of 8 keep the values aligned, so that readers may map the file.
  const padded = Math.ceil(text.length / 8) * 8;
  const header = new Uint8Array(LENGTH_BYTES + padded).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(padded), true);
  header.set(text, LENGTH_BYTES);
  return header;
}

/** The whole file as bytes. Names must differ; each shape must multiply to its number of values (asserted). */
export function encodeSafetensors(
  tensors: readonly NamedTensor[],
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array {
  return Buffer.concat([encodeHeader(tensors, metadata), ...tensors.map((tensor) => toFileBytes(tensor.values))]);
}

interface PlacedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** Reads a whole file; values are copied out of `bytes`. `source` is what errors call it. Throws `bad-data`. */
export function decodeSafetensors(bytes: Uint8Array, source = 'the data'): SafetensorsContent {
  const fail = (found: string): never => {
    throw new PreduceError('bad-data', `expected ${source} to be a safetensors file of float32 tensors, got ${found}`);
  };
  if (bytes.length < LENGTH_BYTES) fail(`a truncated file of ${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerBytes = view.getBigUint64(0, true);
  if (headerBytes > HEADER_BYTES_MAX) fail(`a header of ${headerBytes} bytes, above the limit of ${HEADER_BYTES_MAX}`);
  const dataStart = LENGTH_BYTES + Number(headerBytes);
  if (dataStart > bytes.length) fail(`a file truncated within its header (${bytes.length} of ${dataStart} bytes)`);

  const { placed, metadata } = parseHeader(bytes.subarray(LENGTH_BYTES, dataStart), fail);
  let expectedBegin = 0;
  for (const { name, shape, begin, end } of placed) {
    if (begin !== expectedBegin)
      fail(`tensor "${name}" at byte ${begin} where ${expectedBegin} was due: ranges overlap or leave a gap`);
    if (end - begin !== VALUE_BYTES * elementCount(shape)) {
      fail(`${end - begin} bytes for tensor "${name}" of shape ${shape.join('x')}`);
    }
    expectedBegin = end;
  }
  const dataBytes = bytes.length - dataStart;
  if (dataBytes !== expectedBegin)
    fail(`${dataBytes} bytes of values where its header asks for ${expectedBegin}: truncated or damaged`);

  const tensors = placed.map(({ name, shape, begin, end }) => {
    const values = new Float32Array((end - begin) / VALUE_BYTES);
    const copy = Buffer.from(values.buffer);
    copy.set(bytes.subarray(dataStart + begin, dataStart + end));
    if (endianness() === 'BE') copy.swap32();
    return { name, shape, values };
  });
  return { tensors, metadata };
}

function parseHeader(
  header: Uint8Array,
  fail: (found: string) => never,
): { placed: readonly PlacedTensor[]; metadata: Readonly<Record<string, string>> } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(header));
  } catch (error) {
    return fail(`a header that is no JSON (${messageOf(error)})`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return fail('a header that is no object');
  const placed: PlacedTensor[] = [];
  let metadata: Readonly<Record<string, string>> = {};
  for (const [name, value] of Object.entries(parsed)) {
    if (name === METADATA_KEY) {
      const checked = metadataSchema.safeParse(value);
      metadata = checked.success ? checked.data : fail('metadata that are not all strings');
      continue;
    }
    const entry = entrySchema.safeParse(value);
    if (!entry.success) return fail(`a malformed header entry for tensor "${name}"`);
    const { dtype, shape, data_offsets: offsets } = entry.data;
    if (dtype !== 'F32') return fail(`tensor "${name}" of type ${dtype}`);
    placed.push({ name, shape, begin: offsets[0], end: offsets[1] });
  }
  placed.sort((a, b) => a.begin - b.begin || a.end - b.end);
  return { placed, metadata };
}

/**
 * Writes a file whole or not at all: into a temporary file beside it, flushed to the disk, then renamed.
 * Throws `out-dir-unusable`.
 */
export async function writeSafetensors(
  path: string,
  tensors: readonly NamedTensor[],
  metadata: Readonly<Record<string, string>> = {},
): Promise<void> {
  const header = encodeHeader(tensors, metadata);
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  try {
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(header);
      for (const tensor of tensors) await file.writeFile(toFileBytes(tensor.values));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new PreduceError('out-dir-unusable', `expected to write ${path}, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
}

/** Reads a file. Throws `data-missing` where it cannot be read, `bad-data` where it is not what it should be. */
export async function readSafetensors(path: string): Promise<SafetensorsContent> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new PreduceError('data-missing', `expected to read ${path}, got "${messageOf(error)}"`, { cause: error });
  }
  return decodeSafetensors(bytes, path);
}
