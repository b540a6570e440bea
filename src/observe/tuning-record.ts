/**
 * What tuning found: of each strategy the runs with each learning rate, and the rate that was chosen. Kept in tuning.json
 * after every run, so that a comparison that is cut short does not lose it, and read back by `--tuned` and by reports.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { messageOf, PreduceError } from '../base/errors.js';

const trialSchema = z.object({
  learningRate: z.number().positive(),
  /** Null: no target, or not reached. */
  targetSeconds: z.number().nullable(),
  updatesToTarget: z.number().nullable(),
  wallSeconds: z.number(),
  testAccuracy: z.number().nullable(),
  testLoss: z.number().nullable(),
  /** Why it gave no model; null: it did. */
  failure: z.string().nullable(),
});

export const tunedStrategySchema = z.object({
  label: z.string().min(1),
  /** Null: not all were tried, or none gave a model. */
  learningRate: z.number().positive().nullable(),
  trials: z.array(trialSchema),
});

const tuningSchema = z.object({
  format: z.literal(1),
  /** What was trained: the workload, or the simulated problem. */
  work: z.string(),
  /** Of every trial. */
  seed: z.int(),
  strategies: z.array(tunedStrategySchema),
});

/** One run with one learning rate. */
export type Trial = Readonly<z.infer<typeof trialSchema>>;

export type TunedStrategy = Readonly<Omit<z.infer<typeof tunedStrategySchema>, 'trials'>> & {
  readonly trials: readonly Trial[];
};

export type TuningRecord = Readonly<Omit<z.infer<typeof tuningSchema>, 'strategies'>> & {
  readonly strategies: readonly TunedStrategy[];
};

/** Its name in the directory of a comparison. */
export const TUNING_FILE = 'tuning.json';

/** Reads one back. Throws `data-missing`, `bad-data`. */
export async function readTuningRecord(path: string): Promise<TuningRecord> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new PreduceError('data-missing', `expected a ${TUNING_FILE} of a comparison, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
  try {
    return tuningSchema.parse(JSON.parse(text));
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const why = issue === undefined ? messageOf(error) : `${issue.path.join('.') || 'all of it'}: ${issue.message}`;
    throw new PreduceError('bad-data', `expected ${path} to be the ${TUNING_FILE} of a comparison, got "${why}"`, {
      cause: error,
    });
  }
}
