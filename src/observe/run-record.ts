/**
 * The record of a run, in its directory: config.json (what was asked for), events.jsonl (all that happened, one
 * `RunEvent` a line) and metrics.jsonl (the curves: evaluations and values that workers logged).
 */
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { messageOf, PreduceError } from '../base/errors.js';
import { claimRunDirectory } from './run-directory.js';
import type { RunEvent } from './run-events.js';

export const RECORD_FILES = {
  config: 'config.json',
  events: 'events.jsonl',
  metrics: 'metrics.jsonl',
  summary: 'summary.json',
} as const;

/** Events that may wait for the disk, in bytes; more are dropped, which `close` then reports. */
const UNWRITTEN_BYTES_MAX = 64 * 1024 * 1024;

export interface RunRecordOptions {
  /** Must be new or empty. */
  readonly directory: string;
  /** Written to config.json: JSON values. */
  readonly config: unknown;
}

export interface RunRecord {
  /** Absolute path of the run directory. */
  readonly directory: string;
  /** Path of a file in it. */
  file(name: string): string;
  /** Appends an event. Never blocks and never throws: a disk that fails is reported by `close`. */
  append(event: RunEvent): void;
  /** Writes a JSON file whole or not at all. Throws `out-dir-unusable`. */
  writeJson(name: string, value: unknown): Promise<void>;
  /** Flushes and closes. Throws `out-dir-unusable` where something could not be written. May be called again. */
  close(): Promise<void>;
  /** Closes, and removes everything: for a run that could not start. */
  abandon(): Promise<void>;
}

/** Opens a record. Throws `out-dir-unusable` before anything of the run is written. */
export async function createRunRecord({ directory, config }: RunRecordOptions): Promise<RunRecord> {
  const claimed = await claimRunDirectory(directory);
  await writeJsonFile(claimed.file(RECORD_FILES.config), config);
  const events = await openLines(claimed.file(RECORD_FILES.events));
  const metrics = await openLines(claimed.file(RECORD_FILES.metrics));

  async function close(): Promise<void> {
    const failures = [await events.close(), await metrics.close()];
    const failure = failures.find((reason) => reason !== null) ?? null;
    if (failure !== null) {
      throw new PreduceError('out-dir-unusable', `expected to write the record in ${claimed.path}, got "${failure}"`);
    }
  }

  return {
    directory: claimed.path,
    file: claimed.file,
    append(event) {
      events.append(event);
      const metric = metricOf(event);
      if (metric !== null) metrics.append(metric);
    },
    writeJson: (name, value) => writeJsonFile(claimed.file(name), value),
    close,
    async abandon() {
      await Promise.all([events.close(), metrics.close()]);
      await claimed.giveBack();
    },
  };
}

/** The line of metrics.jsonl that an event gives, if any. */
function metricOf(event: RunEvent): Readonly<Record<string, unknown>> | null {
  switch (event.type) {
    case 'evaluated': {
      const { timeMs, samples, localSteps, loss, accuracy, final } = event;
      return { timeMs, samples, localSteps, testLoss: loss, testAccuracy: accuracy, final };
    }
    case 'logged':
      return { timeMs: event.timeMs, worker: event.worker, ...event.values };
    default:
      return null;
  }
}

interface Lines {
  append(value: unknown): void;
  /** The reason of the first failure, null where all was written. */
  close(): Promise<string | null>;
}

async function openLines(path: string): Promise<Lines> {
  const stream: WriteStream = createWriteStream(path, { flags: 'wx' });
  try {
    await once(stream, 'open');
  } catch (error) {
    throw new PreduceError('out-dir-unusable', `expected to write ${path}, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
  let failure: string | null = null;
  let dropped = 0;
  stream.on('error', (error) => {
    failure ??= messageOf(error);
  });
  return {
    append(value) {
      if (failure !== null || stream.writableEnded) return;
      if (stream.writableLength > UNWRITTEN_BYTES_MAX) dropped += 1;
      else stream.write(`${JSON.stringify(value)}\n`);
    },
    async close() {
      if (!stream.writableEnded) stream.end();
      // The error handler above has the reason.
      await finished(stream).catch(() => undefined);
      return failure ?? (dropped > 0 ? `${dropped} lines of ${path} dropped: the disk is too slow` : null);
    },
  };
}

async function writeJsonFile(path: string, value: unknown): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, `${JSON.stringify(value, null, 2)}\n`);
    await rename(temporary, path);
  } catch (error) {
    throw new PreduceError('out-dir-unusable', `expected to write ${path}, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
}

/** What a run directory holds. */
export interface StoredRun {
  /** config.json, not interpreted. */
  readonly config: unknown;
  readonly events: readonly RunEvent[];
}

/**
 * Reads a record back. A last line that was cut off (the run was killed) is left out.
 * Throws `data-missing` where there is no record, `bad-data` where it is damaged.
 */
export async function readRunRecord(directory: string): Promise<StoredRun> {
  const config = parseJson(await readText(directory, RECORD_FILES.config), `${directory}/${RECORD_FILES.config}`);
  const text = await readText(directory, RECORD_FILES.events);
  const lines = text.split('\n');
  // Without a newline at its end the last line was not written whole.
  lines.pop();
  const events = lines.map((line, index) => {
    const where = `line ${index + 1} of ${join(directory, RECORD_FILES.events)}`;
    const event = parseJson(line, where);
    if (!isRunEvent(event))
      throw new PreduceError('bad-data', `expected an event in ${where}, got ${line.slice(0, 80)}`);
    return event;
  });
  return { config, events };
}

async function readText(directory: string, name: string): Promise<string> {
  try {
    return await readFile(join(directory, name), 'utf8');
  } catch (error) {
    throw new PreduceError(
      'data-missing',
      `expected ${directory} to be a run directory with ${name} in it, got "${messageOf(error)}"`,
      { cause: error },
    );
  }
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
