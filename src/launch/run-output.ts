/**
 * The directory of a run: what was asked for (config.json), what happened (events.jsonl, metrics.jsonl, log.txt), what
 * came out (summary.json, model.safetensors, report.html).
 */
import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PreduceError } from '../base/errors.js';
import { NOTHING_FINITE } from '../core/run-state.js';
import { continueRunRecord } from '../observe/continued-record.js';
import { reopenRunRecord } from '../observe/reopened-record.js';
import type { RunEvent } from '../observe/run-events.js';
import { createRunRecord, RECORD_FILES, type RunRecord } from '../observe/run-record.js';
import { createRunStructure, type RunStructure } from '../observe/run-structure.js';
import { createSummary, type EvaluationPoint, type RunSummary, summaryFactsOf } from '../observe/summary.js';
import type { WorkerTime } from '../observe/worker-time.js';
import { describeEnvironment } from '../report/environment.js';
import type { ReportFact } from '../report/report-input.js';
import type { ResolvedRun } from './run-options.js';
import { reportRun, reportSettings } from './report-run.js';

export interface RunResult {
  readonly label: string;
  readonly summary: RunSummary;
  readonly evaluations: readonly EvaluationPoint[];
  readonly workerTimes: readonly WorkerTime[];
  /** How it went, for the pictures of the report. */
  readonly structure: RunStructure;
  /** Steps that took longer than the emulated device allows, as a share of all steps; null where none is emulated. */
  readonly overrunShare: number | null;
  /** What was asked for, as reports show it. */
  readonly settings: readonly ReportFact[];
  /** Absolute path of the run directory. */
  readonly directory: string;
  readonly modelFile: string;
  readonly reportFile: string;
  readonly interrupted: boolean;
  /** Number of the newest checkpoint, which `--resume` goes on from; null: there is none. */
  readonly checkpoint: number | null;
}

export interface RunOutput {
  readonly directory: string;
  readonly label: string;
  /** Time of the last event that a resumed run had told before; 0 for others. */
  readonly recordedMs: number;
  readonly modelFile: string;
  record(event: RunEvent): void;
  /** Keeps a line that a process wrote. */
  logLine(from: string, line: string): void;
  /** Writes summary and report. Throws `worker-failed` or `not-finite` where no worker was left to hold a model, `evaluation-failed` where none was saved. */
  finish(run: ResolvedRun, outcome: { readonly interrupted: boolean }): Promise<RunResult>;
  hasStarted(): boolean;
  /** Removes everything if the run never started; closes the files otherwise. */
  abandon(): Promise<void>;
}

export interface RunOutputOptions {
  /** Null: runs/TIME-NAME. */
  readonly directory: string | null;
  readonly run: ResolvedRun;
  /** Null: the strategy, with its weights where it has them. */
  readonly label: string | null;
  /** Where the run goes on instead, and from which checkpoint. */
  readonly resumed?: { readonly directory: string; readonly checkpoint: number } | null;
  /** Where another controller of the run had its record, which goes on. */
  readonly continued?: { readonly directory: string } | null;
}

/** `2026-12-01T14-03-59`, for directory names that sort by time. */
export function timeStamp(now: Date): string {
  return now.toISOString().slice(0, 19).replaceAll(':', '-');
}

function defaultLabel({ core }: ResolvedRun): string {
  return core.strategy === 'partial-reduce' ? `partial-reduce:${core.weights.rule}` : core.strategy;
}

/** The end of a run that hands over no model. What is left is its last checkpoint, which is finite. */
function noModel(
  reason: string,
  { directory, logFile, checkpoint }: { directory: string; logFile: string; checkpoint: number | null },
): PreduceError {
  const left =
    checkpoint === null
      ? 'there is no checkpoint to go on from'
      : `its last good checkpoint is ${checkpoint}: \`preduce train --resume ${directory}\` goes on from it`;
  return new PreduceError(
    reason.includes(NOTHING_FINITE) ? 'not-finite' : 'worker-failed',
    `expected workers to hold the final model, but the run ended without: ${reason}; ${left}; see ${logFile}`,
  );
}

/** Claims the directory before anything starts. Throws `out-dir-unusable`. */
export async function createRunOutput(options: RunOutputOptions): Promise<RunOutput> {
  const { run, resumed = null, continued = null } = options;
  const { core, training, targetAccuracy } = run;
  const label = options.label ?? defaultLabel(run);
  const directory = options.directory ?? join('runs', `${timeStamp(new Date())}-${label.replace(':', '-')}`);
  /** What was asked for and where, so that `preduce report` can tell it later, on another machine. */
  const configOf = (of: ResolvedRun) => ({
    label,
    core,
    training: of.training,
    targetAccuracy,
    settings: reportSettings(of),
    environment: describeEnvironment(),
  });
  const structure = createRunStructure();
  const summary = createSummary(
    summaryFactsOf(core, {
      workers: training.workerCount,
      seed: training.seed,
      targetAccuracy,
      out: resolve((resumed ?? continued)?.directory ?? directory),
    }),
  );
  let started = false;
  let holders = 0;
  let endReason = '';
  let steps = 0;
  let overruns = 0;
  let lastMs = 0;
  let checkpoint: number | null = null;

  function take(event: RunEvent): void {
    summary.add(event);
    structure.add(event);
    lastMs = Math.max(lastMs, event.timeMs);
    if (event.type === 'started') started = true;
    if (event.type === 'ready') {
      steps += event.steps ?? 1;
      if (event.overrun) overruns += 1;
    }
    if (event.type === 'checkpointed') ({ checkpoint } = event);
    if (event.type === 'runEnded') {
      holders = event.holders.length;
      endReason = event.reason;
    }
  }

  function openRecord(): Promise<RunRecord> {
    if (continued !== null) return continueRunRecord({ ...continued, onKept: take });
    if (resumed === null) return createRunRecord({ directory, config: configOf(run) });
    return reopenRunRecord({
      directory: resumed.directory,
      isLast: (event) => event.type === 'checkpointCut' && event.checkpoint === resumed.checkpoint,
      onKept: take,
    });
  }

  const record = await openRecord();
  const recordedMs = lastMs;
  // A resumed run that cannot start is given back as it was.
  if (resumed !== null) started = false;
  const modelFile = record.file('model.safetensors');
  const reportFile = record.file('report.html');
  const summaryFile = record.file(RECORD_FILES.summary);

  async function finish(final: ResolvedRun, outcome: { readonly interrupted: boolean }): Promise<RunResult> {
    await record.close();
    if (holders === 0) {
      const last = checkpoint ?? resumed?.checkpoint ?? null;
      throw noModel(endReason, { directory: record.directory, logFile: record.file('log.txt'), checkpoint: last });
    }
    const result: RunResult = {
      label,
      summary: summary.result(),
      evaluations: summary.evaluations(),
      workerTimes: summary.workerTimes(),
      structure: structure.result(),
      overrunShare: final.training.referenceMs === null || steps === 0 ? null : overruns / steps,
      settings: reportSettings(final),
      directory: record.directory,
      modelFile,
      reportFile,
      interrupted: outcome.interrupted,
      checkpoint: checkpoint ?? resumed?.checkpoint ?? null,
    };
    await record.writeJson(RECORD_FILES.config, configOf(final));
    await record.writeJson(RECORD_FILES.summary, result.summary);
    // Loads the charts: half a second that no run and no refusal shall wait for.
    const { renderReport } = await import('../report/render-report.js');
    const page = renderReport({
      runs: [reportRun(result)],
      targetAccuracy,
      referenceMs: final.training.referenceMs,
      settings: result.settings,
      environment: describeEnvironment(),
    });
    await writeFile(reportFile, page);
    if (!existsSync(modelFile)) {
      throw new PreduceError(
        'evaluation-failed',
        `expected the evaluator to save the final model, got no ${modelFile}: see ${record.file('log.txt')}; the record of the run is complete`,
      );
    }
    return result;
  }

  function logLine(from: string, line: string): void {
    try {
      appendFileSync(record.file('log.txt'), `${from}: ${line}\n`);
    } catch {
      // A full disk, or a directory that somebody removed: a run must not end for its log. The record reports it at its close.
    }
  }

  return {
    directory: record.directory,
    label,
    recordedMs,
    modelFile,
    record(event) {
      record.append(event);
      take(event);
      if (event.type === 'started') {
        // What a resumed run had come to is not its result any more.
        if (resumed !== null) for (const path of [modelFile, reportFile, summaryFile]) rmSync(path, { force: true });
      }
      if (event.type !== 'fault') return;
      if (event.kind === 'evaluation') logLine('evaluator', event.message);
      if (event.kind === 'checkpoint') logLine('checkpoints', event.message);
    },
    logLine,
    finish,
    hasStarted: () => started,
    abandon: () => (started ? record.close() : record.abandon()),
  };
}
