/**
 * Reads the record of a run back from its directory (written by run-record.ts).
 */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, PreduceError } from '../base/errors.js';
import type { RunEvent } from './run-events.js';
import { RECORD_FILES, RECORD_FORMAT } from './run-record.js';

export interface StoredEvents {
  /** Whole events. */
  readonly eventCount: number;
  /** The last line was cut off (the run was killed, the disk was full) and is left out. */
  readonly truncated: boolean;
}

/** Longest line that is read; a real one has some hundred bytes per worker. */
const LINE_LENGTH_MAX = 4 * 1024 * 1024;

/**
 * Reads events.jsonl of a run directory and hands its events to `onEvent`, in order; memory does not grow with the length
 * of the run. Events of kinds that this version does not know are handed on too. Throws `data-missing`, `bad-data`.
 */
export async function readRunEvents(directory: string, onEvent: (event: RunEvent) => void): Promise<StoredEvents> {
  const path = join(directory, RECORD_FILES.events);
  let eventCount = 0;
  const truncated = await forEachLine(path, (line) => {
    eventCount += 1;
    onEvent(parseRunEvent(line, `line ${eventCount} of ${path}`));
  });
  return { eventCount, truncated };
}

/** One line of a record; `where` is what errors call it. Throws `bad-data`. */
export function parseRunEvent(line: string, where: string): RunEvent {
  const event = parseJson(line, where);
  if (isRunEvent(event)) return event;
  throw new PreduceError('bad-data', `expected an event in ${where}, got ${line.slice(0, 80)}`);
}

/**
 * Reads config.json of a run directory, which is not interpreted but for its format. Throws `data-missing` where there is
 * no record, `version-mismatch` where a newer Preduce wrote it, `bad-data` where it is damaged.
 */
export async function readRunConfig(directory: string): Promise<unknown> {
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

/** Fields that must be a worker's number, and fields that must be lists of numbers, where an event has them. */
const WORKER_FIELDS = ['worker', 'donor'] as const;
const LIST_FIELDS = ['workers', 'members', 'weights', 'staleness', 'committed', 'holders'] as const;
const NUMBER_FIELDS = ['samples', 'bytesSent', 'localSteps', 'accuracy', 'holdMs', 'group'] as const;
/** Fields that readers rely on; those of the lists above are checked where they are. */
const NEEDED_FIELDS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    started: ['workers'],
    workerSynced: ['worker'],
    ready: ['worker', 'samples'],
    groupFormed: ['group', 'kind', 'members', 'weights', 'staleness'],
    reduced: ['group', 'worker', 'bytesSent'],
    groupClosed: ['group', 'kind', 'committed'],
    released: ['worker'],
    evaluated: ['samples', 'accuracy', 'loss'],
    workerFinished: ['worker'],
    workerLeft: ['worker'],
    workerDead: ['worker'],
    fault: ['kind'],
    runEnded: ['holders', 'samples', 'localSteps', 'rho', 'maxGroupsToConnect', 'holdMs'],
  } satisfies Partial<Record<RunEvent['type'], readonly string[]>>),
);

/** Beyond any run: a damaged number must not make a reader allocate. */
const WORKERS_MAX = 1_000_000;

function isRunEvent(value: unknown): value is RunEvent {
  if (typeof value !== 'object' || value === null) return false;
  const event = value as Readonly<Record<string, unknown>>;
  const { type, timeMs } = event;
  if (typeof type !== 'string' || typeof timeMs !== 'number') return false;
  const isWorker = (field: unknown): boolean =>
    field == null || (Number.isSafeInteger(field) && (field as number) >= 0 && (field as number) < WORKERS_MAX);
  const isList = (field: unknown): boolean =>
    field === undefined || (Array.isArray(field) && field.every((item) => typeof item === 'number'));
  return (
    (NEEDED_FIELDS.get(type) ?? []).every((name) => event[name] !== undefined) &&
    WORKER_FIELDS.every((name) => isWorker(event[name])) &&
    LIST_FIELDS.every((name) => isList(event[name])) &&
    NUMBER_FIELDS.every((name) => event[name] === undefined || typeof event[name] === 'number')
  );
}
