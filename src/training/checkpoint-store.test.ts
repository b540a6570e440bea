import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PreduceError } from '../base/errors.js';
import { decodeManifest, encodeManifest, type Manifest, type ManifestPart } from './checkpoint-manifest.js';
import { decodePart, encodePart, type PartState, writePart } from './checkpoint-part.js';
import { completeCheckpoint, findCheckpoint, manifestPath, partPath, removeLeftovers } from './checkpoint-store.js';

const SHAPES = { layout: [{ name: 'w', shape: [2, 2] }], auxiliaryLayout: [{ name: 'mean', shape: [1] }] };

function stateOf(value: number): PartState {
  return {
    parameters: Float32Array.of(value, 2, 3, 4),
    auxiliary: Float32Array.of(5),
    optimizer: Float32Array.of(6, 7, 8, 9, value),
  };
}

function manifestOf(checkpoint: number, parts: readonly ManifestPart[]): Omit<Manifest, 'format'> {
  return {
    checkpoint,
    savedAt: '2026-12-01T12:00:00.000Z',
    timeMs: 1234.5,
    term: 1,
    progress: { samples: 640, localSteps: 10 },
    ledger: { nextId: 3, epoch: 0, start: 120, open: [{ id: 1, epoch: 0, start: 50, count: 30 }] },
    parts: [...parts],
    layout: '0123456789abcdef',
    label: 'partial-reduce:dynamic',
    options: { seed: 7 },
    core: { groupSize: 2 },
    training: { learningRate: 0.1 },
  };
}

let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'preduce-checkpoints-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

async function writeCheckpoint(number: number, workers = 2): Promise<void> {
  const parts: ManifestPart[] = [];
  for (let worker = 0; worker < workers; worker += 1) {
    const stamp = await writePart(partPath(directory, number, worker), SHAPES, stateOf(number));
    parts.push({ worker, k: 5, lease: 1, processed: 10, ...stamp });
  }
  await completeCheckpoint(directory, manifestOf(number, parts));
}

/** Calls back with a copy of the bytes cut at each length, then with each byte changed. */
function* damaged(bytes: Uint8Array): Generator<readonly [string, Uint8Array]> {
  for (let length = 0; length < bytes.length; length += 1) yield [`cut at ${length}`, bytes.slice(0, length)];
  for (let i = 0; i < bytes.length; i += 1) {
    for (const bit of [0x01, 0x20, 0x80]) {
      const copy = bytes.slice();
      copy[i] = (copy[i] as number) ^ bit;
      yield [`bit ${bit} of byte ${i}`, copy];
    }
  }
  yield ['a byte more', Buffer.concat([bytes, Buffer.of(0x0a)])];
}

describe('a manifest', () => {
  const manifest = manifestOf(3, [{ worker: 0, k: 5, lease: null, processed: 0, bytes: 1, sha256: 'a'.repeat(64) }]);

  it('is read as it was written', () => {
    expect(decodeManifest(encodeManifest(manifest), 'the test')).toEqual({ format: 1, ...manifest });
  });

  it('is refused wherever it is cut, and whatever byte is changed', () => {
    const taken = [...damaged(encodeManifest(manifest))].filter(([, bytes]) => {
      try {
        decodeManifest(bytes, 'the test');
        return true;
      } catch (error) {
        return !(error instanceof PreduceError && error.code === 'bad-data');
      }
    });
    expect(taken.map(([what]) => what)).toEqual([]);
  });

  it.each([
    ['a newer format', { format: 2 }, 'version-mismatch'],
    ['no parts', { parts: [] }, 'bad-data'],
    ['a wrong progress', { progress: { samples: -1, localSteps: 0 } }, 'bad-data'],
  ])('is refused with %s', (_, change, code) => {
    const bytes = encodeManifest({ ...manifest, ...change });
    expect(() => decodeManifest(bytes, 'the test')).toThrow(expect.objectContaining({ code }));
  });
});

describe('a part', () => {
  it('is read as it was written', () => {
    expect(decodePart(encodePart(SHAPES, stateOf(1)), SHAPES, 'the test')).toEqual(stateOf(1));
  });

  it('is refused for a model of another shape', () => {
    const bytes = encodePart(SHAPES, stateOf(1));
    const other = { ...SHAPES, layout: [{ name: 'w', shape: [4, 1] }] };
    expect(() => decodePart(bytes, other, 'the test')).toThrow('expected tensor "w" [4, 1] in the test, got [2, 2]');
    expect(() => decodePart(bytes, { ...SHAPES, auxiliaryLayout: [] }, 'the test')).toThrow('expected 2 tensors');
  });
});

describe('the newest whole checkpoint', () => {
  it('is the last one written', async () => {
    await writeCheckpoint(1);
    await writeCheckpoint(2);
    const found = await findCheckpoint(directory);
    expect(found).toMatchObject({ manifest: { checkpoint: 2 }, damaged: [], nextNumber: 3 });
  });

  it.each([
    ['manifest', manifestPath],
    ['part', (at: string, number: number) => partPath(at, number, 1)],
  ])('is the one before where a byte of a %s is missing or wrong', async (_, pathOf) => {
    await writeCheckpoint(1);
    await writeCheckpoint(2);
    const path = pathOf(directory, 2);
    // Every case of a manifest in memory is above.
    for (const [what, bytes] of [...damaged(await readFile(path))].filter((__, i) => i % 41 === 0)) {
      await writeFile(path, bytes);
      const { manifest, damaged: told } = await findCheckpoint(directory);
      expect([what, manifest.checkpoint, told.length]).toEqual([what, 1, 1]);
    }
  });

  it('is the one before where a part is gone, and its number is not used again', async () => {
    await writeCheckpoint(1);
    await writeCheckpoint(2);
    await rm(partPath(directory, 2, 0));
    expect(await findCheckpoint(directory)).toMatchObject({ manifest: { checkpoint: 1 }, nextNumber: 3 });
  });

  it('is not one that only has parts, or was being written', async () => {
    await writeCheckpoint(1);
    await writePart(partPath(directory, 2, 0), SHAPES, stateOf(2));
    await writeFile(join(directory, '.000003.manifest.77.tmp'), 'half');
    expect(await findCheckpoint(directory)).toMatchObject({ manifest: { checkpoint: 1 }, damaged: [], nextNumber: 4 });
    await removeLeftovers(directory);
    expect((await readdir(directory)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('is missed with a reason', async () => {
    await expect(findCheckpoint(join(directory, 'nowhere'))).rejects.toMatchObject({ code: 'data-missing' });
    await writeCheckpoint(1);
    await writeFile(manifestPath(directory, 1), 'x');
    await expect(findCheckpoint(directory)).rejects.toMatchObject({ code: 'bad-data' });
  });
});

describe('old checkpoints', () => {
  it('are removed but for the newest two, with parts of those that were never completed', async () => {
    await writeCheckpoint(1, 3);
    await writePart(partPath(directory, 2, 0), SHAPES, stateOf(2));
    await writeCheckpoint(3);
    await writeCheckpoint(4);
    await writeCheckpoint(5);
    const numbers = new Set((await readdir(directory)).map((name) => name.slice(0, 6)));
    expect([...numbers].toSorted()).toEqual(['000004', '000005']);
    expect(await readdir(directory)).toHaveLength(6);
  });
});
