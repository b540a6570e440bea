/**
 * Going on from a checkpoint: what was asked for then, what is asked for now, and whether the two are one run.
 */
import { join, resolve } from 'node:path';
import { PreduceError } from '../base/errors.js';
import { expectDirectory } from '../observe/stored-run.js';
import type { Manifest } from '../training/checkpoint-manifest.js';
import {
  CHECKPOINTS_DIRECTORY,
  createCheckpointsDirectory,
  findCheckpoint,
  removeLeftovers,
} from '../training/checkpoint-store.js';
import type { ResolvedRun, RunOptions } from './run-options.js';

/** A run that goes on. */
export interface ResumedRun {
  /** Absolute path of its directory. */
  readonly directory: string;
  readonly manifest: Manifest;
  /** Newer checkpoints that were passed over: what is wrong with each, in one line. */
  readonly damaged: readonly string[];
  /** What it is made of now: the options of then, overridden by those that are given. */
  readonly options: RunOptions;
  /** Number of the next checkpoint. */
  readonly nextNumber: number;
}

export function checkpointsDirectoryOf(runDirectory: string): string {
  return join(runDirectory, CHECKPOINTS_DIRECTORY);
}

/** Throws `bad-option` where a run that goes on is told to do so elsewhere. */
export function checkResumeOut(resume: string, out: string | null): void {
  if (out === null || resolve(out) === resolve(resume)) return;
  throw new PreduceError('bad-option', `--out: expected none beside --resume, which goes on in ${resume}, got ${out}`);
}

/** Finds the newest whole checkpoint of a run directory. Throws `data-missing`, `bad-data`, `version-mismatch`. */
export async function openResume(directory: string, given: RunOptions): Promise<ResumedRun> {
  await expectDirectory(directory);
  const path = resolve(directory);
  const { manifest, damaged, nextNumber } = await findCheckpoint(checkpointsDirectoryOf(path));
  const then: RunOptions = manifest.options;
  const options = { ...then, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
  return { directory: path, manifest, damaged, options: withReference(options, given, manifest), nextNumber };
}

/** The reference time of the emulated devices was measured once, and stays while the devices do. */
function withReference(options: RunOptions, given: RunOptions, { training }: Manifest): RunOptions {
  const { referenceMs } = training;
  const isKept = given.slow === undefined && given.referenceMs === undefined && typeof referenceMs === 'number';
  return isKept ? { ...options, referenceMs } : options;
}

/** The directory is the run's again: what interrupted writes left is removed. */
export async function prepareCheckpoints(runDirectory: string): Promise<string> {
  const directory = checkpointsDirectoryOf(runDirectory);
  await createCheckpointsDirectory(directory);
  await removeLeftovers(directory);
  return directory;
}

/** What must be as it was, by its name among the settings, and the flag that sets it. */
const FIXED_SETTINGS: Readonly<Record<string, string>> = {
  workload: '--workload',
  strategy: '--strategy',
  seed: '--seed',
  batchSamples: '--batch-size',
  learningRate: '--lr',
  optimizer: '--optimizer',
  momentum: '--momentum',
  nesterov: '--nesterov',
  weightDecay: '--weight-decay',
  averageOptimizer: '--average-optimizer',
};

function refusal(flag: string, then: unknown, now: unknown): PreduceError {
  return new PreduceError(
    'bad-option',
    `${flag}: expected ${shown(then)}, as in the run that is resumed, got ${shown(now)}: leave it out, or start a new run`,
  );
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The run that goes on. Throws `bad-option` where it would be another one, or has reached its end. */
export function resumeRun(run: ResolvedRun, { manifest, nextNumber }: ResumedRun): ResolvedRun {
  checkSettings(run, manifest);
  checkEnd(run, manifest);
  const { term, progress, ledger, checkpoint } = manifest;
  return {
    ...run,
    core: { ...run.core, term: term + 1, restored: { progress, ledger, checkpoint: nextNumber - 1 } },
    training: { ...run.training, resumeFrom: checkpoint },
  };
}

function checkSettings({ core, training }: ResolvedRun, manifest: Manifest): void {
  const now: Readonly<Record<string, unknown>> = training;
  for (const [name, flag] of Object.entries(FIXED_SETTINGS)) {
    if (now[name] !== manifest.training[name]) throw refusal(flag, manifest.training[name], now[name]);
  }
  const then = manifest.core['ledger'] as typeof core.ledger;
  if (then?.leaseBatches !== core.ledger?.leaseBatches) {
    throw refusal('--lease-batches', then?.leaseBatches, core.ledger?.leaseBatches);
  }
  if (then?.sampleCount !== core.ledger?.sampleCount) {
    throw new PreduceError(
      'bad-option',
      `--data: expected the ${then?.sampleCount} samples of the run that is resumed, got ${core.ledger?.sampleCount}`,
    );
  }
  checkSchedule(training.schedule, manifest);
}

function checkSchedule(now: ResolvedRun['training']['schedule'], manifest: Manifest): void {
  const then = manifest.training['schedule'] as typeof now;
  if (then.name !== now.name) throw refusal('--schedule', then.name, now.name);
  if (then.warmUpSamples !== now.warmUpSamples) {
    throw refusal('--warm-up', `${then.warmUpSamples} samples`, `${now.warmUpSamples} samples`);
  }
  // A constant rate does not depend on how long the run is.
  if (then.name !== 'constant' && then.runSamples !== now.runSamples) {
    throw new PreduceError(
      'bad-option',
      `--epochs, --steps: expected a run of ${then.runSamples} samples, which --schedule ${then.name} is made for, got ${now.runSamples}: leave them out`,
    );
  }
}

/** A run that has nothing left to do would only be averaged once more. */
function checkEnd({ core, durationMs }: ResolvedRun, { ledger, progress, timeMs }: Manifest): void {
  const ended = (what: string, flag: string): PreduceError =>
    new PreduceError(
      'bad-option',
      `--resume: expected a run with something left to do, got one that ${what}: raise ${flag}`,
    );
  const epochs = core.ledger?.epochs ?? null;
  const hasWork = ledger === null || epochs === null || [ledger, ...ledger.open].some(({ epoch }) => epoch < epochs);
  if (!hasWork) {
    throw ended(`has processed its ${epochs} epochs`, '--epochs');
  }
  if (core.maxLocalSteps !== null && progress.localSteps >= core.maxLocalSteps) {
    throw ended(`has taken its ${core.maxLocalSteps} steps`, '--steps');
  }
  if (durationMs !== null && timeMs >= durationMs) throw ended('has used its time', '--duration');
}
