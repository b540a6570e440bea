/**
 * The directory of a comparison: what each run kept, tuning.json, compare.json with the medians, one report over all.
 */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { claimRunDirectory } from '../observe/run-directory.js';
import { medianOf, type MedianSummary } from '../observe/median.js';
import { writeJsonFile } from '../observe/run-record.js';
import { TUNING_FILE, type TunedStrategy, type TuningRecord } from '../observe/tuning-record.js';
import { describeEnvironment } from '../report/environment.js';
import type { ComparedRun } from './comparison.js';
import { timeStamp } from './run-output.js';

export interface ComparisonFacts {
  /** Null: no target, or one of loss. */
  readonly targetAccuracy: number | null;
  /** Of simulations; null: no target, or one of accuracy. */
  readonly targetLoss: number | null;
  /** Whether runs ended at the target: what their accuracy is of. */
  readonly stopAtTarget: boolean;
  /** Null where no device is emulated. */
  readonly referenceMs: number | null;
  /** What all-reduce would gain if nobody waited and communication were free; null: not known. */
  readonly idealSpeedUp: number | null;
  /** Whether all times are virtual. */
  readonly isSimulated: boolean;
}

/** One strategy's medians. */
export interface ComparisonEntry {
  readonly label: string;
  readonly summary: MedianSummary;
  /** How its learning rate was found; null: it is that of the options. */
  readonly tuned: TunedStrategy | null;
}

export interface ComparisonResult extends ComparisonFacts {
  readonly entries: readonly ComparisonEntry[];
  /** Of every strategy, those that no rate suited too; null: nothing was tuned. */
  readonly tuned: readonly TunedStrategy[] | null;
  readonly directory: string;
  readonly reportFile: string;
}

/** Everything that was run. */
export interface ComparisonRuns {
  /** At least one. */
  readonly runs: readonly ComparedRun[];
  readonly tuned: readonly TunedStrategy[] | null;
}

export interface ComparisonOutput {
  readonly directory: string;
  /** Keeps what tuning has found so far. */
  keepTuning(record: TuningRecord): Promise<void>;
  /** Writes medians and report. */
  finish(runs: ComparisonRuns, facts: ComparisonFacts): Promise<ComparisonResult>;
  /** Gives the directory back, unless the record of a run lies in it. */
  abandon(): Promise<void>;
}

/** Claims the directory (default runs/TIME-compare). Throws `out-dir-unusable`. */
export async function createComparisonOutput(options: {
  readonly directory: string | null;
}): Promise<ComparisonOutput> {
  const claimed = await claimRunDirectory(options.directory ?? join('runs', `${timeStamp(new Date())}-compare`));
  const reportFile = claimed.file('report.html');
  return {
    directory: claimed.path,
    keepTuning: (record) => writeJsonFile(claimed.file(TUNING_FILE), record),
    async finish({ runs, tuned }, facts) {
      const entries = entriesOf(runs, tuned);
      const result = { ...facts, entries, tuned, directory: claimed.path, reportFile };
      await writeJsonFile(claimed.file('compare.json'), { ...facts, tuned, entries: comparisonJson(result) });
      // Loads the charts: half a second that no run and no refusal shall wait for.
      const [{ renderReport }, { mergeFacts }] = await Promise.all([
        import('../report/render-report.js'),
        import('../report/load-report.js'),
      ]);
      const page = renderReport({
        runs: runs.map((run) => run.page),
        ...facts,
        tuned,
        settings: mergeFacts(runs.map(({ page: { label }, settings }) => ({ label, facts: settings }))),
        environment: describeEnvironment(),
      });
      await writeFile(reportFile, page);
      return result;
    },
    async abandon() {
      const kept = await readdir(claimed.path);
      if (kept.length === 0) await claimed.giveBack();
    },
  };
}

function entriesOf(runs: readonly ComparedRun[], tuned: readonly TunedStrategy[] | null): readonly ComparisonEntry[] {
  const labels = [...new Set(runs.map((run) => run.page.label))];
  return labels.map((label) => ({
    label,
    summary: medianOf(runs.filter((run) => run.page.label === label).map((run) => run.summary)),
    tuned: tuned?.find((each) => each.label === label) ?? null,
  }));
}

/** The entries as `--json` prints them: label and medians side by side, and how a tuned rate was found. */
export function comparisonJson({ entries }: Pick<ComparisonResult, 'entries'>): readonly object[] {
  return entries.map(({ label, summary, tuned }) => {
    if (tuned === null) return { label, ...summary };
    const { learningRate, trials } = tuned;
    return { label, ...summary, tuned: { learningRate, trials } };
  });
}
