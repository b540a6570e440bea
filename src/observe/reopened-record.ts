/**
 * The record of a run that goes on from a checkpoint: kept up to there and continued. What had happened after it is taken out, as
 * it will happen anew; the files as they were stay beside the new ones.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { messageOf, PreduceError } from '../base/errors.js';
import type { RunDirectory } from './run-directory.js';
import type { RunEvent } from './run-events.js';
import { metricOf, openRunRecord, RECORD_FILES, type RunRecord } from './run-record.js';
import { readRunEvents } from './stored-run.js';

export interface ReopenOptions {
  readonly directory: string;
  /** Whether this is the last event to be kept; where none is, all are. */
  readonly isLast: (event: RunEvent) => boolean;
  /** Called with each event that is kept, in order. */
  readonly onKept: (event: RunEvent) => void;
}

/** Names of the files as they were before. */
const FORMER: Readonly<Record<string, string>> = {
  [RECORD_FILES.events]: 'events.before-resume.jsonl',
  [RECORD_FILES.metrics]: 'metrics.before-resume.jsonl',
};

const BUFFERED_CHARS = 1_000_000;

/** Throws `data-missing`, `bad-data` (the record cannot be read), `out-dir-unusable`. `abandon` makes all as it was. */
export async function reopenRunRecord({ directory, isLast, onKept }: ReopenOptions): Promise<RunRecord> {
  const path = resolve(directory);
  const claimed: RunDirectory = {
    path,
    file: (name) => join(path, name),
    giveBack: () => exchange((name) => [FORMER[name] ?? name, name]),
  };

  /** Renames each file of events as told. */
  async function exchange(namesOf: (name: string) => readonly [from: string, to: string]): Promise<void> {
    try {
      for (const name of Object.keys(FORMER)) {
        const [from, to] = namesOf(name);
        await rename(claimed.file(from), claimed.file(to));
      }
    } catch (error) {
      throw new PreduceError('out-dir-unusable', `expected to rename files in ${path}, got "${messageOf(error)}"`, {
        cause: error,
      });
    }
  }

  const temporaryName = (name: string): string => `${name}.${process.pid}.tmp`;
  const events = createLineFile(claimed.file(temporaryName(RECORD_FILES.events)));
  const metrics = createLineFile(claimed.file(temporaryName(RECORD_FILES.metrics)));
  let isOver = false;
  try {
    await readRunEvents(path, (event) => {
      if (isOver) return;
      events.append(event);
      const metric = metricOf(event);
      if (metric !== null) metrics.append(metric);
      onKept(event);
      isOver = isLast(event);
    });
  } finally {
    events.close();
    metrics.close();
  }
  await exchange((name) => [name, FORMER[name] ?? name]);
  await exchange((name) => [temporaryName(name), name]);
  return openRunRecord(claimed, 'a');
}

interface LineFile {
  append(value: unknown): void;
  close(): void;
}

/** Throws `out-dir-unusable`. */
function createLineFile(path: string): LineFile {
  let text = '';
  let file: number;
  try {
    file = openSync(path, 'w');
  } catch (error) {
    throw new PreduceError('out-dir-unusable', `expected to write ${path}, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
  function flush(): void {
    writeSync(file, text);
    text = '';
  }
  return {
    append(value) {
      text += `${JSON.stringify(value)}\n`;
      if (text.length > BUFFERED_CHARS) flush();
    },
    close() {
      flush();
      closeSync(file);
    },
  };
}
