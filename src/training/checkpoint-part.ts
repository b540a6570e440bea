/**
 * One worker's part of a checkpoint: its replica and its optimizer's state, as a safetensors file, so that other tools can
 * look into it. Tensors `optimizer` and those of the model, by name.
 */
import { readFile } from 'node:fs/promises';
import { messageOf, PreduceError } from '../base/errors.js';
import type { Model } from '../engine/model.js';
import type { Layout } from '../wire/messages.js';
import { type FileStamp, stampOf, writeAtomically } from './checkpoint-file.js';
import { decodeSafetensors, encodeSafetensors, type NamedTensor, tensorsOfModel } from './safetensors.js';

/** What a part holds. */
export interface PartState {
  readonly parameters: Float32Array;
  readonly auxiliary: Float32Array;
  readonly optimizer: Float32Array;
}

type Shapes = Pick<Model, 'layout' | 'auxiliaryLayout'>;

/** No tensor of a model is called so: layer names are paths of their own. */
const OPTIMIZER = '__optimizer__';

/** The file's bytes: a copy, so that training may go on. */
export function encodePart(shapes: Shapes, state: PartState): Uint8Array {
  const { parameters, auxiliary, optimizer } = state;
  return encodeSafetensors([
    ...tensorsOfModel({ ...shapes, parameters, auxiliary }),
    { name: OPTIMIZER, shape: [optimizer.length], values: optimizer },
  ]);
}

/** Throws `bad-data` where the bytes are no part of this model. `source` is what errors call them. */
export function decodePart(bytes: Uint8Array, shapes: Shapes, source: string): PartState {
  const { tensors } = decodeSafetensors(bytes, source);
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const optimizer = byName.get(OPTIMIZER);
  const expected = shapes.layout.length + shapes.auxiliaryLayout.length + 1;
  if (optimizer === undefined || tensors.length !== expected) {
    throw new PreduceError(
      'bad-data',
      `expected ${expected} tensors of the run's model and its optimizer in ${source}, got ${tensors.length}`,
    );
  }
  return {
    parameters: gather(shapes.layout, byName, source),
    auxiliary: gather(shapes.auxiliaryLayout, byName, source),
    optimizer: optimizer.values,
  };
}

/** The layout's tensors one after another. */
function gather(layout: Layout, byName: ReadonlyMap<string, NamedTensor>, source: string): Float32Array {
  const found = layout.map(({ name, shape }) => {
    const tensor = byName.get(name);
    if (tensor === undefined || tensor.shape.join() !== shape.join()) {
      const got = tensor === undefined ? 'none' : `[${tensor.shape.join(', ')}]`;
      throw new PreduceError(
        'bad-data',
        `expected tensor "${name}" [${shape.join(', ')}] in ${source}, got ${got}: the model's code has changed`,
      );
    }
    return tensor.values;
  });
  const vector = new Float32Array(found.reduce((sum, values) => sum + values.length, 0));
  let offset = 0;
  for (const values of found) {
    vector.set(values, offset);
    offset += values.length;
  }
  return vector;
}

/** Throws `out-dir-unusable`. */
export async function writePart(path: string, shapes: Shapes, state: PartState): Promise<FileStamp> {
  const bytes = encodePart(shapes, state);
  await writeAtomically(path, bytes);
  return stampOf(bytes);
}

/** The bytes of a file that is as it was written. Throws `data-missing`, `bad-data`. */
export async function readStamped(path: string, stamp: FileStamp): Promise<Uint8Array> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new PreduceError('data-missing', `expected to read ${path}, got "${messageOf(error)}"`, { cause: error });
  }
  const { bytes: length, sha256 } = stampOf(bytes);
  if (length !== stamp.bytes) {
    throw new PreduceError('bad-data', `expected ${stamp.bytes} bytes in ${path}, got ${length}: it is truncated`);
  }
  if (sha256 !== stamp.sha256) {
    throw new PreduceError('bad-data', `expected ${path} as it was written, got other bytes: it is damaged`);
  }
  return bytes;
}
