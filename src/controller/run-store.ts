/**
 * The state directory of a controller: what a run is (run.json) and the facts of it that outlive the controller (facts.json, see
 * core/facts.ts). Each file is written whole or not at all, and is on the disk before anything is done that depends on it. One
 * controller at a time has the directory.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { messageOf, PreduceError } from '../base/errors.js';
import type { RunFacts } from '../core/facts.js';
import { makeWithParents } from '../observe/run-directory.js';
import { type StateLock, takeStateLock } from './state-lock.js';

/** Version of what the files mean; another one is refused. */
const STATE_FORMAT = 1;

const FILES = { run: 'run.json', facts: 'facts.json' } as const;

/** Keys of a run lie here: for its owner only. */
const FILE_MODE = 0o600;

const count = z.number().int().nonnegative();

const tensor = z.object({ name: z.string(), shape: z.array(count) });

const runSchema = z.object({
  format: z.literal(STATE_FORMAT),
  runId: z.string(),
  runKey: z.string(),
  resumeKey: z.string(),
  /** The port that workers know. */
  port: count,
  /** When the workers were told to start, as a time of day in ms; null: not yet. */
  startedAtMs: z.number().nullable(),
  /** What replicas look like; null before the first worker. */
  shape: z
    .object({ layout: z.array(tensor), fingerprint: z.string(), exchangeLength: count, stateLength: count })
    .nullable(),
  /** Of whoever serves the run: not interpreted here. */
  settings: z.record(z.string(), z.unknown()),
});

export type StoredRun = Omit<z.infer<typeof runSchema>, 'format'>;

const progress = z.object({ samples: count, localSteps: count });
const lease = z.object({ id: count, epoch: count, start: count, count: z.number().int().positive() });

const factsSchema = z.object({
  format: z.literal(STATE_FORMAT),
  term: z.number().int().positive(),
  started: z.boolean(),
  finishReason: z.string().nullable(),
  ended: z.boolean(),
  progress,
  groupCount: count,
  checkpointCount: count,
  incarnations: z.array(z.tuple([count, count])),
  members: z.array(
    z.object({
      worker: count,
      incarnation: count,
      hostname: z.string().nullable(),
      synced: z.boolean(),
      counted: z.boolean(),
      finite: z.boolean(),
      leaving: z.boolean(),
      k: count,
      localSteps: count,
      samples: count,
    }),
  ),
  ledger: z
    .object({
      nextId: count,
      epoch: count,
      start: count,
      open: z.array(lease),
      held: z.array(z.object({ worker: count, lease })),
    })
    .nullable(),
});

/** A run that another controller goes on with. */
export interface FormerRun {
  readonly run: StoredRun;
  /** Null: no worker had come yet. */
  readonly facts: RunFacts | null;
}

export interface RunStore {
  /** Absolute. */
  readonly directory: string;
  /** What an earlier controller has left; null: the run is new. */
  readonly before: FormerRun | null;
  /** Throws `state-unusable`. */
  saveRun(run: StoredRun): void;
  /** Throws `state-unusable`. */
  saveFacts(facts: RunFacts): void;
  /** Removes what is written down: the directory is as new. */
  forget(): void;
  /** Lets others have the directory. */
  close(): void;
}

/** Throws `state-locked`, `state-unusable`. */
export async function openRunStore(directory: string): Promise<RunStore> {
  const path = resolve(directory);
  let lock: StateLock;
  try {
    await makeWithParents(path);
    lock = takeStateLock(path);
  } catch (error) {
    if (error instanceof PreduceError) throw error;
    throw unusable(path, 'to keep the state of a run', error);
  }
  try {
    const run = readStored(join(path, FILES.run), runSchema);
    const facts = readStored(join(path, FILES.facts), factsSchema);
    return {
      directory: path,
      before: run === null ? null : { run, facts },
      saveRun: (value) => save(join(path, FILES.run), value),
      saveFacts: (value) => save(join(path, FILES.facts), value),
      forget() {
        for (const name of Object.values(FILES)) rmSync(join(path, name), { force: true });
      },
      close: () => lock.release(),
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function unusable(path: string, purpose: string, error: unknown): PreduceError {
  return new PreduceError(
    'state-unusable',
    `--state: expected ${purpose} in ${path}, got "${messageOf(error)}": choose another directory, or make room`,
    { cause: error },
  );
}

function readStored<T>(path: string, schema: z.ZodType<T>): T | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw unusable(path, 'to read the state of a run', error);
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    const what = error instanceof z.ZodError ? `"${error.issues[0]?.path.join('.')}" wrong` : 'no JSON';
    throw new PreduceError(
      'state-unusable',
      `--state: expected the state of a run of format ${STATE_FORMAT} in ${path}, got one with ${what}: it is of another version, or damaged; choose a new directory`,
      { cause: error },
    );
  }
}

/** Whole or not at all, also where the machine fails: the bytes are on the disk before they have the name. */
function save(path: string, value: object): void {
  const temporary = `${path}.tmp`;
  try {
    const file = openSync(temporary, 'w', FILE_MODE);
    try {
      writeSync(file, `${JSON.stringify({ format: STATE_FORMAT, ...value })}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    throw unusable(path, 'to write the state of a run', error);
  }
}
