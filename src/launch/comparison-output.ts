/**
 * The directory of a comparison: a run directory for each run, compare.json with the medians, one report over all.
 */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PreduceError } from '../base/errors.js';
import { claimRunDirectory } from '../observe/run-directory.js';
import { medianOf, type MedianSummary } from '../observe/median.js';
import { describeEnvironment } from '../report/environment.js';
import { reportRun } from './report-run.js';
import { type RunResult, timeStamp } from './run-output.js';

export interface ComparisonFacts {
  readonly targetAccuracy: number;
  /** Null where no device is emulated. */
  readonly referenceMs: number | null;
  /** What all-reduce would gain if nobody waited and communication were free. */
  readonly idealSpeedUp: number;
}

/** One strategy's medians. */
export interface ComparisonEntry {
  readonly label: string;
  readonly summary: MedianSummary;
  readonly results: readonly RunResult[];
}

export interface ComparisonResult extends ComparisonFacts {
  readonly entries: readonly ComparisonEntry[];
  readonly directory: string;
  readonly reportFile: string;
}

export interface ComparisonOutput {
  readonly directory: string;
  /** Writes medians and report. Throws `aborted` where there is no result at all. */
  finish(
    results: readonly { readonly label: string; readonly result: RunResult }[],
    facts: ComparisonFacts,
  ): Promise<ComparisonResult>;
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
    async finish(results, facts) {
      if (results.length === 0) {
        throw new PreduceError('aborted', 'interrupted before the first run had started: nothing was compared');
      }
      const labels = [...new Set(results.map((entry) => entry.label))];
      const entries = labels.map((label): ComparisonEntry => {
        const own = results.flatMap((entry) => (entry.label === label ? [entry.result] : []));
        return { label, summary: medianOf(own.map((result) => result.summary)), results: own };
      });
      await writeFile(
        claimed.file('compare.json'),
        `${JSON.stringify({ ...facts, entries: entries.map((entry) => entry.summary) }, null, 2)}\n`,
      );
      // Loads the charts: half a second that no run and no refusal shall wait for.
      const { renderReport } = await import('../report/render-report.js');
      const page = renderReport({
        runs: results.map(({ result }) => reportRun(result)),
        ...facts,
        settings: results[0]?.result.settings ?? [],
        environment: describeEnvironment(),
      });
      await writeFile(reportFile, page);
      return { ...facts, entries, directory: claimed.path, reportFile };
    },
    async abandon() {
      const kept = await readdir(claimed.path);
      if (kept.length === 0) await claimed.giveBack();
    },
  };
}
