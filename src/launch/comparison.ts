/**
 * The course of a comparison, whatever a run of it is (processes, or virtual time): tuning first, where it is asked for,
 * then every contender in each repeat. Repeats are interleaved, so that a drift of the machine's speed meets all alike.
 */
import { PreduceError } from '../base/errors.js';
import type { RunSummary } from '../observe/summary.js';
import { TUNING_FILE, type TunedStrategy } from '../observe/tuning-record.js';
import type { ReportFact, ReportRun } from '../report/report-input.js';
import type { ComparisonFacts, ComparisonOutput, ComparisonResult } from './comparison-output.js';
import type { Contender } from './contenders.js';
import { tuneAll, type TuningPlan } from './tuning.js';

/** One run that is to be made. */
export interface RunRequest {
  readonly contender: Contender;
  /** In the comparison's directory, should the run keep something. */
  readonly name: string;
  readonly seed: number;
  /** Null: that of the options. */
  readonly learningRate: number | null;
  readonly stopAtTarget: boolean;
}

/** What came of it. */
export interface ComparedRun {
  readonly summary: RunSummary;
  /** As the report shows it. */
  readonly page: ReportRun;
  readonly settings: readonly ReportFact[];
  /** It was ended early: its numbers are those up to then. */
  readonly interrupted: boolean;
}

export interface ComparisonPlan {
  readonly contenders: readonly Contender[];
  /** Runs of each, with seeds `seed`, `seed + 1` … */
  readonly repeat: number;
  readonly seed: number;
  readonly stopAtTarget: boolean;
  /** Null: all have the learning rate of the options. */
  readonly tuning: TuningPlan | null;
}

export interface ComparisonSteps {
  readonly run: (request: RunRequest) => Promise<ComparedRun>;
  readonly isInterrupted: () => boolean;
  /** Called before each run, with its title. */
  readonly onRun?: ((title: string) => void) | undefined;
  /** Called when a strategy's rate is chosen. */
  readonly onTuned?: ((tuned: TunedStrategy) => void) | undefined;
}

/** Of `--repeat`. Throws `bad-option`. */
export function checkRepeat(repeat: number): void {
  if (Number.isSafeInteger(repeat) && repeat >= 1) return;
  throw new PreduceError('bad-option', `--repeat: expected a whole number of at least 1, got ${repeat}`);
}

/** Makes all runs, and finishes the output. Throws `aborted` where there is no result at all, and what a run throws. */
export async function conductComparison(
  plan: ComparisonPlan,
  steps: ComparisonSteps,
  { output, facts }: { readonly output: ComparisonOutput; readonly facts: ComparisonFacts },
): Promise<ComparisonResult> {
  const tuned = await tune(plan, steps, output);
  const runs = steps.isInterrupted() ? [] : await repeatAll(plan, steps, tuned);
  if (runs.length === 0) throw nothingCompared(plan, tuned, steps.isInterrupted());
  return output.finish({ runs, tuned }, facts);
}

function nothingCompared(
  { tuning }: ComparisonPlan,
  tuned: readonly TunedStrategy[] | null,
  isInterrupted: boolean,
): PreduceError {
  if (!isInterrupted) {
    const labels = (tuned ?? []).map(({ label }) => label).join(', ');
    return new PreduceError(
      'worker-failed',
      `--tune: expected a learning rate that gives a model, got none for ${labels}: try lower ones`,
    );
  }
  const rest = (tuned ?? []).some((each) => tuning?.known.includes(each) !== true)
    ? `; the rates that were found are in its ${TUNING_FILE}: go on with --tuned`
    : '';
  return new PreduceError('aborted', `interrupted before the first run had started: nothing was compared${rest}`);
}

async function tune(
  { contenders, tuning }: ComparisonPlan,
  { run, isInterrupted, onRun, onTuned }: ComparisonSteps,
  output: ComparisonOutput,
): Promise<readonly TunedStrategy[] | null> {
  if (tuning === null) return null;
  return tuneAll(contenders, tuning, {
    async tryRate(contender, learningRate) {
      if (isInterrupted()) return null;
      onRun?.(`tuning ${contender.label}, lr ${learningRate}`);
      // Not beside the runs that are compared: reports of the directory shall not show it.
      const name = `tuning/${directoryName(contender.label)}-${learningRate}`;
      const { seed } = tuning;
      const running = run({ contender, name, seed, learningRate, stopAtTarget: true });
      const result = await running.catch((error: unknown) => {
        if (isInterrupted()) return null;
        throw error;
      });
      return result === null || result.interrupted ? null : result.summary;
    },
    keep: output.keepTuning,
    ...(onTuned === undefined ? {} : { onTuned }),
  });
}

async function repeatAll(
  { contenders, repeat, seed, stopAtTarget }: ComparisonPlan,
  { run, isInterrupted, onRun }: ComparisonSteps,
  tuned: readonly TunedStrategy[] | null,
): Promise<readonly ComparedRun[]> {
  const runs: ComparedRun[] = [];
  const rates = new Map(tuned?.map(({ label, learningRate }) => [label, learningRate]));
  // Whose every rate failed is told of in the tuning.
  const runnable = contenders.filter(({ label }) => tuned === null || rates.get(label) != null);
  for (let round = 0; round < repeat && !isInterrupted(); round += 1) {
    for (const contender of runnable) {
      if (isInterrupted()) break;
      const { label } = contender;
      const suffix = repeat === 1 ? '' : `-${round + 1}`;
      onRun?.(repeat === 1 ? label : `${label} (repeat ${round + 1} of ${repeat})`);
      const running = run({
        contender,
        name: `${directoryName(label)}${suffix}`,
        seed: seed + round,
        learningRate: rates.get(label) ?? null,
        stopAtTarget,
      });
      const result = await running.catch((error: unknown) => {
        // Interrupted before this one started: what is there already is shown.
        if (isInterrupted() && runs.length > 0) return null;
        throw error;
      });
      if (result !== null) runs.push(result);
    }
  }
  return runs;
}

function directoryName(label: string): string {
  return label.replace(':', '-');
}
