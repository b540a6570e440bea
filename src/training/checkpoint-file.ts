/**
 * Files that are whole or not there at all: written under a temporary name, flushed, renamed, and the directory flushed, so
 * that a crash at any moment leaves the old file or the new one. What a disk does to them later is found by their digest.
 */
import { createHash } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { messageOf, PreduceError } from '../base/errors.js';

/** What is known of a file from when it was written. */
export interface FileStamp {
  readonly bytes: number;
  /** SHA-256 of its bytes, 64 hexadecimal digits. */
  readonly sha256: string;
}

export function stampOf(bytes: Uint8Array): FileStamp {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

const TEMPORARY_SUFFIX = '.tmp';

/** Whether a name is one that an interrupted write leaves behind. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith('.') && name.endsWith(TEMPORARY_SUFFIX);
}

/** Throws `out-dir-unusable`, leaving what was there before. */
export async function writeAtomically(path: string, bytes: Uint8Array): Promise<void> {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${process.pid}${TEMPORARY_SUFFIX}`);
  try {
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await flushDirectory(directory);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new PreduceError('out-dir-unusable', `expected to write ${path}, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
}

/** Makes a rename last. Windows opens no directories, and needs none of this. */
async function flushDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
