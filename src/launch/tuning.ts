/**
 * Each strategy at its own best learning rate: all are tried over the same grid, on a seed apart from those that are
 * measured, and the rate that reaches the target first is taken. A comparison at one rate for all would favour whom it suits.
 */
import { PreduceError } from '../base/errors.js';
import type { RunSummary } from '../observe/summary.js';
import { readTuningRecord, type Trial, type TunedStrategy, type TuningRecord } from '../observe/tuning-record.js';
import type { Contender } from './contenders.js';

/** Seed of the trials, beyond the first that is measured. */
export const TUNING_SEED_OFFSET = 1000;

/** What a comparison is asked to tune, and what is known already. */
export interface TuningOptions {
  /** Rates to try. */
  readonly tune?: readonly number[] | null;
  /** tuning.json files of earlier comparisons: what they chose is not tuned anew. Of a strategy in several, the last counts. */
  readonly tuned?: readonly string[];
}

export interface TuningPlan {
  /** Null: every contender has its rate already. */
  readonly learningRates: readonly number[] | null;
  readonly work: string;
  readonly seed: number;
  readonly known: readonly TunedStrategy[];
}

/** What tuning needs of whoever compares. */
export interface TuningSteps {
  /** One run; null: it was interrupted. Throws what a run throws. */
  readonly tryRate: (contender: Contender, learningRate: number) => Promise<RunSummary | null>;
  /** Keeps what is known so far. */
  readonly keep: (record: TuningRecord) => Promise<void>;
  readonly onTuned?: (tuned: TunedStrategy) => void;
}

/** Checks the options, and reads the files. Null: nothing is tuned. Throws `bad-option`, `data-missing`, `bad-data`. */
export async function planTuning(
  { tune = null, tuned = [] }: TuningOptions,
  run: {
    readonly contenders: readonly Contender[];
    readonly work: string;
    readonly seed: number;
    readonly learningRate: number | undefined;
  },
): Promise<TuningPlan | null> {
  if (tune === null && tuned.length === 0) return null;
  if (run.learningRate !== undefined) {
    throw new PreduceError('bad-option', `--lr: expected none beside --tune or --tuned, got ${run.learningRate}`);
  }
  if (tune !== null) checkGrid(tune);
  const known: TunedStrategy[] = [];
  for (const path of tuned) {
    const record = await readTuningRecord(path);
    if (record.work !== run.work) {
      throw new PreduceError('bad-option', `--tuned: expected rates for ${run.work}, got ${path} for ${record.work}`);
    }
    known.push(...record.strategies.filter(({ learningRate }) => learningRate !== null));
  }
  const lacking = run.contenders.filter(({ label }) => !known.some((each) => each.label === label));
  if (tune === null && lacking.length > 0) {
    throw new PreduceError(
      'bad-option',
      `--tuned: expected the rate of each strategy in ${tuned.join(', ')}, got none of ` +
        `${lacking.map(({ label }) => label).join(', ')}: add --tune, or leave them out`,
    );
  }
  return { learningRates: tune, work: run.work, seed: run.seed + TUNING_SEED_OFFSET, known };
}

function checkGrid(rates: readonly number[]): void {
  const isGrid = rates.length > 1 && new Set(rates).size === rates.length;
  if (isGrid && rates.every((rate) => Number.isFinite(rate) && rate > 0)) return;
  throw new PreduceError(
    'bad-option',
    `--tune: expected two or more different learning rates above 0, like lr=.01,.03,.1, got lr=${rates.join(',')}`,
  );
}

/**
 * Tries every rate with each contender that has none yet. A run that diverges or fails otherwise counts as one that gave no
 * model; one that is interrupted ends it all, and is not counted. In the order of the contenders.
 */
export async function tuneAll(
  contenders: readonly Contender[],
  { learningRates, known, work, seed }: TuningPlan,
  { tryRate, keep, onTuned }: TuningSteps,
): Promise<readonly TunedStrategy[]> {
  const done = new Map(known.map((tuned) => [tuned.label, tuned]));
  const found = (): readonly TunedStrategy[] => contenders.flatMap(({ label }) => done.get(label) ?? []);
  const keepFound = (): Promise<void> => keep({ format: 1, work, seed, strategies: found() });
  for (const contender of contenders) {
    const { label } = contender;
    if (learningRates === null || done.has(label)) continue;
    const trials: Trial[] = [];
    for (const learningRate of learningRates) {
      const trial = await tryOne(() => tryRate(contender, learningRate), learningRate);
      if (trial === null) return found();
      trials.push(trial);
      done.set(label, { label, learningRate: null, trials: [...trials] });
      await keepFound();
    }
    const tuned: TunedStrategy = { label, learningRate: chooseRate(trials), trials };
    done.set(label, tuned);
    await keepFound();
    onTuned?.(tuned);
  }
  return found();
}

async function tryOne(run: () => Promise<RunSummary | null>, learningRate: number): Promise<Trial | null> {
  try {
    const summary = await run();
    if (summary === null) return null;
    const { targetSeconds, updatesToTarget, wallSeconds, testAccuracy, testLoss } = summary;
    return { learningRate, targetSeconds, updatesToTarget, wallSeconds, testAccuracy, testLoss, failure: null };
  } catch (error) {
    // Too high a rate is found out by such failures: the grid's others are still of use.
    if (!(error instanceof PreduceError) || !TRIAL_FAILURES.has(error.code)) throw error;
    const nothing = { targetSeconds: null, updatesToTarget: null, wallSeconds: 0, testAccuracy: null, testLoss: null };
    return { learningRate, ...nothing, failure: error.message };
  }
}

const TRIAL_FAILURES: ReadonlySet<string> = new Set(['not-finite', 'worker-failed', 'evaluation-failed']);

/** The rate that reached the target first; where none did, that of the best accuracy, or else of the least loss. */
export function chooseRate(trials: readonly Trial[]): number | null {
  const never = Number.POSITIVE_INFINITY;
  const usable = trials.filter(({ testAccuracy, testLoss }) => testAccuracy !== null || testLoss !== null);
  const [best] = usable.toSorted(
    (a, b) =>
      ascending(a.targetSeconds ?? never, b.targetSeconds ?? never) ||
      ascending(-(a.testAccuracy ?? -1), -(b.testAccuracy ?? -1)) ||
      ascending(a.testLoss ?? never, b.testLoss ?? never),
  );
  return best?.learningRate ?? null;
}

/** Differences would not order infinities. */
function ascending(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether the chosen rate is the least or the greatest that was tried: one beyond may be better. */
export function isAtEdge({ learningRate, trials }: TunedStrategy): boolean {
  const rates = trials.map((trial) => trial.learningRate);
  return learningRate !== null && (learningRate === Math.min(...rates) || learningRate === Math.max(...rates));
}
