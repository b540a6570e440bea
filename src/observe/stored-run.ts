/**
 * Reads the record of a run back from its directory (written by run-record.ts).
 */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, PreduceError } from '../base/errors.js';
import type { RunEvent } from './run-events.js';
import { RECORD_FILES, RECORD_FORMAT } from './run-record.js';

/** What a run directory tells beside its events. */
export interface StoredRun {
  /** config.json, not interpreted. */
  readonly config: unknown;
  /** Whole events. */
  readonly eventCount: number;
  /** The last line was cut off (the run was killed, the disk was full) and is left out. */
  readonly truncated: boolean;
}

/** Longest line that is read; a real one has some hundred bytes per worker. */
const LINE_LENGTH_MAX = 4 * 1024 * 1024;

/**
 * Reads a record and hands its events to `onEvent`, in order; memory does not grow with the length of the run. Throws
 * `data-missing` where there is no record, `version-mismatch` where a newer Preduce wrote it, `bad-data` where it is
 * damaged.
 */
export async function readRunRecord(directory: string, onEvent: (event: RunEvent) => void): Promise<StoredRun> {
  const config = await readRunConfig(directory);
  const path = join(directory, RECORD_FILES.events);
  let eventCount = 0;
  const truncated = await forEachLine(path, (line) => {
    eventCount += 1;
    const where = `line ${eventCount} of ${path}`;
    const event = parseJson(line, where);
    if (!isRunEvent(event)) {
      throw new PreduceError('bad-data', `expected an event in ${where}, got ${line.slice(0, 80)}`);
    }
    onEvent(event);
  });
  return { config, eventCount, truncated };
}

/** config.json of a run directory. Throws as `readRunRecord` does. */
async function readRunConfig(directory: string): Promise<unknown> {
  await expectDirectory(directory);
  const path = join(directory, RECORD_FILES.config);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw missing(`expected ${directory} to be a run directory with ${RECORD_FILES.config} in it`, error);
  }
  const config = parseJson(text, path);
  const format = typeof config === 'object' && config !== null && 'format' in config ? config.format : RECORD_FORMAT;
  if (typeof format !== 'number' || !Number.isSafeInteger(format)) {
    throw new PreduceError(
      'bad-data',
      `expected format in ${path} to be a whole number, got ${JSON.stringify(format)}`,
    );
  }
  if (format > RECORD_FORMAT) {
    throw new PreduceError(
      'version-mismatch',
      `expected a run of format ${RECORD_FORMAT} or older in ${directory}, got format ${format}: a newer Preduce wrote it, read it with that`,
    );
  }
  return config;
}

/** Throws `data-missing` where `path` is not a directory that can be read. */
export async function expectDirectory(path: string): Promise<void> {
  let isDirectory: boolean;
  try {
    isDirectory = (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new PreduceError('data-missing', `expected a run directory, got ${path}: no such directory`, {
        cause: error,
      });
    }
    throw missing(`expected ${path} to be a run directory`, error);
  }
  if (!isDirectory) throw new PreduceError('data-missing', `expected a run directory, got ${path}: it is a file`);
}

function missing(expected: string, error: unknown): PreduceError {
  const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const got = isAbsent ? 'there is none' : `got "${messageOf(error)}"`;
  return new PreduceError('data-missing', `${expected}, ${got}`, { cause: error });
}

/** Calls `onLine` with each line that ends in a newline; whether something was left behind the last. */
async function forEachLine(path: string, onLine: (line: string) => void): Promise<boolean> {
  let rest = '';
  const stream = createReadStream(path, 'utf8');
  try {
    for await (const chunk of stream as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LINE_LENGTH_MAX) {
        throw new PreduceError(
          'bad-data',
          `expected lines of JSON in ${path}, got one of over ${LINE_LENGTH_MAX} bytes`,
        );
      }
      for (const line of lines) onLine(line);
    }
  } catch (error) {
    if (error instanceof PreduceError) throw error;
    throw missing(`expected the events of the run in ${path}`, error);
  }
  return rest !== '';
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PreduceError('bad-data', `expected JSON in ${where}, got "${messageOf(error)}"`, { cause: error });
  }
}

function isRunEvent(value: unknown): value is RunEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { type, timeMs } = value as Readonly<Record<string, unknown>>;
  return typeof type === 'string' && typeof timeMs === 'number';
}
