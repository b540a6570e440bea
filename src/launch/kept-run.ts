/**
 * A run that is written down as it goes, so that the same command goes on with it after its controller has died
 * (`preduce controller --state DIR`).
 */
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { flagOf } from '../base/flag-names.js';
import { PreduceError } from '../base/errors.js';
import { openRunStore, type RunStore } from '../controller/run-store.js';
import type { RunOptions } from './run-options.js';

const settingsSchema = z.object({
  /** What was asked for; what was left out is missing. */
  options: z.record(z.string(), z.unknown()),
  /** Absolute path of the run directory; null: none. */
  out: z.string().nullable(),
  /** The measured reference iteration of emulated devices, in ms; null: nothing was measured. */
  referenceMs: z.number().nullable(),
});

type KeptSettings = z.infer<typeof settingsSchema>;

/** What an earlier controller of the run had found out. */
export type FormerSettings = Pick<KeptSettings, 'out' | 'referenceMs'>;

export interface KeptRun {
  readonly store: RunStore;
  /** Null: the run is new. */
  readonly former: FormerSettings | null;
  /** What `ControllerOptions.storedSettings` is to be. */
  settings(found: FormerSettings): Readonly<Record<string, unknown>>;
}

/** Flags whose options are called otherwise in the program. */
const FLAG_NAMES: Readonly<Record<string, string>> = {
  dataDirectory: 'data',
  batchSamples: 'batchSize',
  livenessMs: 'liveness',
  evaluateEverySamples: 'evaluateEvery',
  durationMs: 'duration',
  learningRate: 'lr',
};

/**
 * Takes a state directory for the run of these options. Throws `state-locked`, `state-unusable`, and `bad-option` where the
 * directory holds a run of other options.
 */
export async function openKeptRun(directory: string, asked: RunOptions, out: string | null): Promise<KeptRun> {
  const options = asJson(asked);
  const store = await openRunStore(directory);
  try {
    const former = store.before === null ? null : readSettings(store, store.before.run.settings);
    if (former !== null) checkSame(store.directory, { former, options, out });
    return { store, former, settings: (found) => ({ options, ...found }) };
  } catch (error) {
    store.close();
    throw error;
  }
}

/** As it will be read again. */
function asJson(options: RunOptions): Readonly<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(options)) as Readonly<Record<string, unknown>>;
}

function readSettings({ directory }: RunStore, stored: Readonly<Record<string, unknown>>): KeptSettings {
  const { success, data } = settingsSchema.safeParse(stored);
  if (success) return data;
  throw new PreduceError(
    'state-unusable',
    `--state: expected the state of a run of \`preduce controller\` in ${directory}, got another program's: choose a new directory`,
  );
}

interface Comparison {
  readonly former: KeptSettings;
  readonly options: Readonly<Record<string, unknown>>;
  readonly out: string | null;
}

function checkSame(directory: string, { former, options, out }: Comparison): void {
  const names = new Set([...Object.keys(former.options), ...Object.keys(options)]);
  for (const name of names) {
    if (isDeepStrictEqual(former.options[name], options[name])) continue;
    throw differs(directory, flagOf(FLAG_NAMES[name] ?? name), former.options[name], options[name]);
  }
  if (out !== null && resolve(out) !== former.out) throw differs(directory, '--out', former.out, resolve(out));
}

function differs(directory: string, flag: string, then: unknown, now: unknown): PreduceError {
  return new PreduceError(
    'bad-option',
    `${flag}: expected ${shown(then)}, as in the run that ${directory} holds, got ${shown(now)}: start it with the same options, or choose another --state for a new run`,
  );
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
