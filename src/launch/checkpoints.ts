/**
 * Makes a checkpoint of a local run whole: all of the run that is no replica, beside the parts that its workers have written.
 */
import type { CheckpointCut } from '../controller/checkpoints.js';
import { completeCheckpoint } from '../training/checkpoint-store.js';
import { checkpointsDirectoryOf } from './resume.js';
import type { ResolvedRun, RunOptions } from './run-options.js';

export interface CheckpointedRun {
  readonly plan: { readonly run: ResolvedRun; readonly options: RunOptions };
  readonly directory: string;
  readonly label: string;
}

/** Throws `out-dir-unusable`. */
export function saveCheckpoint(cut: CheckpointCut, { plan, directory, label }: CheckpointedRun): Promise<void> {
  const { run, options } = plan;
  const { checkpoint, timeMs, progress, ledger, parts, layout } = cut;
  return completeCheckpoint(checkpointsDirectoryOf(directory), {
    checkpoint,
    savedAt: new Date().toISOString(),
    timeMs,
    term: run.core.term,
    progress: { ...progress },
    ledger: ledger === null ? null : { ...ledger, open: [...ledger.open] },
    parts: parts.map((part) => ({ ...part })),
    layout,
    label,
    options: { ...options },
    core: { ...run.core },
    training: { ...run.training },
  });
}
