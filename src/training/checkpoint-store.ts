/**
 * The checkpoints of a run, in one directory: `000003.manifest` and `000003-worker-0.safetensors` for each worker. The newest
 * whole ones are kept; which is whole is found by looking at every byte of it.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, PreduceError } from '../base/errors.js';
import { isTemporaryName, writeAtomically } from './checkpoint-file.js';
import { decodeManifest, encodeManifest, type Manifest } from './checkpoint-manifest.js';
import { readStamped } from './checkpoint-part.js';

/** Name of the directory within that of the run. */
export const CHECKPOINTS_DIRECTORY = 'checkpoints';

/** Whole checkpoints that are kept: should the newest be damaged, there is another. */
export const CHECKPOINTS_KEPT = 2;

const MANIFEST_NAME = /^(\d{6,})\.manifest$/;
const PART_NAME = /^(\d{6,})-worker-\d+\.safetensors$/;

function stem(checkpoint: number): string {
  return String(checkpoint).padStart(6, '0');
}

export function manifestPath(directory: string, checkpoint: number): string {
  return join(directory, `${stem(checkpoint)}.manifest`);
}

export function partPath(directory: string, checkpoint: number, worker: number): string {
  return join(directory, `${stem(checkpoint)}-worker-${worker}.safetensors`);
}

/** Throws `out-dir-unusable`. */
export async function createCheckpointsDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
  } catch (error) {
    throw new PreduceError('out-dir-unusable', `expected to make ${directory}, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
}

/** Makes a checkpoint whose parts are there whole, then removes what it makes superfluous. Throws `out-dir-unusable`. */
export async function completeCheckpoint(directory: string, manifest: Omit<Manifest, 'format'>): Promise<void> {
  await writeAtomically(manifestPath(directory, manifest.checkpoint), encodeManifest(manifest));
  await prune(directory, manifest.checkpoint);
}

/** Numbers of the files that fit, descending. */
function numbersIn(names: readonly string[], pattern: RegExp): readonly number[] {
  const numbers = names.flatMap((name) => {
    const digits = pattern.exec(name)?.[1];
    return digits === undefined ? [] : [Number(digits)];
  });
  return [...new Set(numbers)].toSorted((a, b) => b - a);
}

/** Manifests go before their parts: what is left of a checkpoint that is being removed must not look like one. */
async function prune(directory: string, newest: number): Promise<void> {
  const names = await readdir(directory);
  const kept = numbersIn(names, MANIFEST_NAME)
    .filter((number) => number <= newest)
    .slice(0, CHECKPOINTS_KEPT);
  for (const pattern of [MANIFEST_NAME, PART_NAME]) {
    for (const name of names) {
      const number = Number(pattern.exec(name)?.[1] ?? newest);
      if (number < newest && !kept.includes(number)) await rm(join(directory, name), { force: true });
    }
  }
}

export interface FoundCheckpoint {
  readonly manifest: Manifest;
  /** Newer ones that are not whole: what is wrong with each, in one line. */
  readonly damaged: readonly string[];
  /** A number above every checkpoint that there is anything of. */
  readonly nextNumber: number;
}

/**
 * The newest checkpoint that is whole. Throws `data-missing` where there is none, `bad-data` where every one is damaged,
 * `version-mismatch` where a newer Preduce wrote the newest.
 */
export async function findCheckpoint(directory: string): Promise<FoundCheckpoint> {
  const names = await readdir(directory).catch(() => []);
  const numbers = numbersIn(names, MANIFEST_NAME);
  const damaged: string[] = [];
  for (const number of numbers) {
    try {
      const manifest = await readWhole(directory, number);
      const [highest = number] = numbersIn(names, /^\.?(\d{6,})[-.]/);
      return { manifest, damaged, nextNumber: highest + 1 };
    } catch (error) {
      const isDamage = error instanceof PreduceError && (error.code === 'bad-data' || error.code === 'data-missing');
      if (!isDamage) throw error;
      damaged.push(error.message);
    }
  }
  const [first] = damaged;
  if (first !== undefined) {
    throw new PreduceError(
      'bad-data',
      `expected a whole checkpoint in ${directory}, got ${damaged.length} damaged: ${first}`,
    );
  }
  throw new PreduceError(
    'data-missing',
    `expected a checkpoint in ${directory}, got none: the run ended before its first one, or kept none; start it anew`,
  );
}

async function readWhole(directory: string, number: number): Promise<Manifest> {
  const manifest = await readManifest(directory, number);
  for (const part of manifest.parts) await readStamped(partPath(directory, number, part.worker), part);
  return manifest;
}

/** Throws `data-missing`, `bad-data`, `version-mismatch`. */
export async function readManifest(directory: string, number: number): Promise<Manifest> {
  const path = manifestPath(directory, number);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new PreduceError('data-missing', `expected to read ${path}, got "${messageOf(error)}"`, { cause: error });
  }
  const manifest = decodeManifest(bytes, path);
  if (manifest.checkpoint !== number) {
    throw new PreduceError('bad-data', `expected checkpoint ${number} in ${path}, got ${manifest.checkpoint}`);
  }
  return manifest;
}

/** Removes what interrupted writes left. */
export async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (isTemporaryName(name)) await rm(join(directory, name), { force: true });
  }
}
