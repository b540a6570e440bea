/**
 * The directory of a run: claimed before anything starts, so that a run never ends with nowhere to put its model, and
 * given back without a trace when the run could not start.
 */
import { mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { messageOf, PreduceError } from '../base/errors.js';

export interface RunDirectory {
  /** Absolute. */
  readonly path: string;
  /** Path of a file in it. */
  file(name: string): string;
  /** Removes what lies in it, and those directories that claiming made, as far as they are empty. */
  giveBack(): Promise<void>;
}

const PROBE_NAME = '.preduce-probe';

/** Makes `directory` (and its parents), or takes it where it is empty. Throws `out-dir-unusable`, leaving nothing. */
export async function claimRunDirectory(directory: string): Promise<RunDirectory> {
  const path = resolve(directory);
  let firstMade: string | undefined;
  try {
    firstMade = await makeWithParents(path);
    const found = await readdir(path);
    if (found.length > 0) {
      throw new PreduceError(
        'out-dir-unusable',
        `expected a new or an empty directory for the run, got ${path} with ${found.length} entries in it: choose another --out`,
      );
    }
    const probe = join(path, PROBE_NAME);
    await writeFile(probe, '', { flag: 'wx' });
    await rm(probe);
  } catch (error) {
    await removeMade(path, firstMade);
    if (error instanceof PreduceError) throw error;
    throw new PreduceError(
      'out-dir-unusable',
      `expected to make the run directory ${path}, got "${messageOf(error)}": choose another --out`,
      { cause: error },
    );
  }
  return {
    path,
    file: (name) => join(path, name),
    async giveBack() {
      for (const name of await readdir(path)) await rm(join(path, name), { recursive: true, force: true });
      await removeMade(path, firstMade);
    },
  };
}

/**
 * Makes `path` and the parents that are missing; gives the first that it made. Node's own recursive mkdir never ends where a
 * parent cannot hold directories at all, as in /proc.
 */
export async function makeWithParents(path: string): Promise<string | undefined> {
  try {
    await mkdir(path);
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return undefined;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
  }
  const firstMade = await makeWithParents(dirname(path));
  try {
    await mkdir(path);
  } catch (error) {
    await removeMade(dirname(path), firstMade);
    throw error;
  }
  return firstMade ?? path;
}

/** Removes `path` and its parents up to `firstMade`, and stops at the first that holds something of somebody else. */
async function removeMade(path: string, firstMade: string | undefined): Promise<void> {
  if (firstMade === undefined) return;
  for (let current = path; current.length >= firstMade.length; current = dirname(current)) {
    try {
      await rmdir(current);
    } catch {
      return;
    }
  }
}
