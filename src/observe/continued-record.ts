/**
 * The record of a run whose controller died, continued by the next one: everything in it is kept, but for a last line that was not
 * written to its end.
 */
import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { messageOf, PreduceError } from '../base/errors.js';
import type { RunEvent } from './run-events.js';
import { openRunRecord, RECORD_FILES, type RunRecord } from './run-record.js';
import { readRunEvents } from './stored-run.js';

const NEWLINE = 0x0a;
const CHUNK_BYTES = 64 * 1024;

export interface ContinueOptions {
  readonly directory: string;
  /** Called with each event that is kept, in order. */
  readonly onKept: (event: RunEvent) => void;
}

/** Throws `data-missing`, `bad-data` (the record cannot be read), `out-dir-unusable`. `abandon` leaves it as it is. */
export async function continueRunRecord({ directory, onKept }: ContinueOptions): Promise<RunRecord> {
  const path = resolve(directory);
  const file = (name: string): string => join(path, name);
  await readRunEvents(path, onKept);
  for (const name of [RECORD_FILES.events, RECORD_FILES.metrics]) await endWithLine(file(name));
  return openRunRecord({ path, file, giveBack: () => Promise.resolve() }, 'a');
}

/** Cuts off what follows the last newline. */
async function endWithLine(path: string): Promise<void> {
  try {
    const file = await open(path, 'r+');
    try {
      const { size } = await file.stat();
      const end = await findLineEnd(file, size);
      if (end < size) await file.truncate(end);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new PreduceError('out-dir-unusable', `expected to continue ${path}, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
}

/** Where the last whole line ends, in bytes. */
async function findLineEnd(file: Awaited<ReturnType<typeof open>>, size: number): Promise<number> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let end = size; end > 0; end -= CHUNK_BYTES) {
    const start = Math.max(0, end - CHUNK_BYTES);
    const { bytesRead } = await file.read(chunk, 0, end - start, start);
    const found = chunk.subarray(0, bytesRead).lastIndexOf(NEWLINE);
    if (found >= 0) return start + found + 1;
  }
  return 0;
}
