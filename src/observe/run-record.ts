/**
 * The record of a run, in its directory: config.json (what was asked for), events.jsonl (all that happened, one
 * `RunEvent` a line) and metrics.jsonl (the curves: evaluations and values that workers logged). stored-run.ts reads it.
 */
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { messageOf, PreduceError } from '../base/errors.js';
import { claimRunDirectory, type RunDirectory } from './run-directory.js';
import type { RunEvent } from './run-events.js';

export const RECORD_FILES = {
  config: 'config.json',
  events: 'events.jsonl',
  metrics: 'metrics.jsonl',
  summary: 'summary.json',
} as const;

/**
 * Version of what the files mean, told in config.json; readers refuse what is newer. Raise it when a reader of today would
 * misunderstand; new fields and new kinds of events do not need that.
 */
export const RECORD_FORMAT = 1;

/** Events that may wait for the disk, in bytes; more are dropped, which `close` then reports. */
const UNWRITTEN_BYTES_MAX = 64 * 1024 * 1024;

export interface RunRecordOptions {
  /** Must be new or empty. */
  readonly directory: string;
  /** Written to config.json, beside the format: JSON values. */
  readonly config: Readonly<Record<string, unknown>>;
}

export interface RunRecord {
  /** Absolute path of the run directory. */
  readonly directory: string;
  /** Path of a file in it. */
  file(name: string): string;
  /** Appends an event. Never blocks and never throws: a disk that fails is reported by `close`. */
  append(event: RunEvent): void;
  /** Writes a JSON file whole or not at all, config.json with its format. Throws `out-dir-unusable`. */
  writeJson(name: string, value: unknown): Promise<void>;
  /** Flushes and closes. Throws `out-dir-unusable` where something could not be written. May be called again. */
  close(): Promise<void>;
  /** Closes, and removes everything: for a run that could not start. */
  abandon(): Promise<void>;
}

/** Opens a record. Throws `out-dir-unusable` before anything of the run is written. */
export async function createRunRecord({ directory, config }: RunRecordOptions): Promise<RunRecord> {
  const claimed = await claimRunDirectory(directory);
  await writeConfigFile(claimed, config);
  return openRunRecord(claimed, 'wx');
}

function writeConfigFile(claimed: RunDirectory, value: unknown): Promise<void> {
  return writeJsonFile(claimed.file(RECORD_FILES.config), { format: RECORD_FORMAT, ...(value as object) });
}

/** Opens the files of events in a directory that is claimed: new ones (`wx`), or to continue (`a`). Throws `out-dir-unusable`. */
export async function openRunRecord(claimed: RunDirectory, flags: 'wx' | 'a'): Promise<RunRecord> {
  const events = await openLines(claimed.file(RECORD_FILES.events), flags);
  const metrics = await openLines(claimed.file(RECORD_FILES.metrics), flags);

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
    writeJson: (name, value) =>
      name === RECORD_FILES.config ? writeConfigFile(claimed, value) : writeJsonFile(claimed.file(name), value),
    close,
    async abandon() {
      await Promise.all([events.close(), metrics.close()]);
      await claimed.giveBack();
    },
  };
}

/** The line of metrics.jsonl that an event gives, if any. */
export function metricOf(event: RunEvent): Readonly<Record<string, unknown>> | null {
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

async function openLines(path: string, flags: 'wx' | 'a'): Promise<Lines> {
  const stream: WriteStream = createWriteStream(path, { flags });
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

/** Writes whole, or not at all. Throws `out-dir-unusable`. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
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
