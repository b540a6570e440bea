/**
 * Learning-rate schedules: the factor on the base learning rate as a pure function of global progress, the samples that
 * all workers together have processed (algorithms.md 3.5). A slow worker's rate thus falls along with everybody's, and
 * under all-reduce, where GROUP tells all members the same progress, all of them apply the same rate.
 *
 * Shapes: constant; step as in ResNet (He et al., CVPR 2016: a tenth from half of the run on, and again from three
 * quarters on); cosine to zero (Loshchilov and Hutter, ICLR 2017, without restarts). Warm-up grows linearly from zero
 * (Goyal et al., 2017); the cosine takes what is left of the run, milestones stay where they are.
 */
import { z } from 'zod';
import { PreduceError } from '../base/errors.js';

export const SCHEDULE_NAMES = ['constant', 'step', 'cosine'] as const;

export type ScheduleName = (typeof SCHEDULE_NAMES)[number];

export const scheduleConfigSchema = z.object({
  name: z.enum(SCHEDULE_NAMES),
  /** Samples of all workers until the rate is at its full height; 0: no warm-up. */
  warmUpSamples: z.number().nonnegative(),
  /** Samples of all workers in the whole run; null: nobody knows. */
  runSamples: z.number().positive().nullable(),
});

export type ScheduleConfig = z.infer<typeof scheduleConfigSchema>;

/** The factor, 0 to 1, for a step that brings the run to `samples` samples of all workers. */
export type Schedule = (samples: number) => number;

/** Shares of the run from which on `step` lowers the rate once more. */
export const STEP_MILESTONES: readonly number[] = [0.5, 0.75];
/** What `step` multiplies the rate by at each milestone. */
export const STEP_FACTOR = 0.1;

/**
 * Throws `bad-option` where the run's length must be known and is not. Lost work of dead workers counts as progress, so
 * that a run may process more than `runSamples`: it stays at the end of its schedule then.
 */
export function createSchedule({ name, warmUpSamples, runSamples }: ScheduleConfig): Schedule {
  const warmUp = (samples: number): number => (samples < warmUpSamples ? samples / warmUpSamples : 1);
  if (name === 'constant') return warmUp;
  if (runSamples === null) {
    throw new PreduceError(
      'bad-option',
      `--schedule ${name}: expected a run whose length is known, got one without: set --epochs or --steps, or use constant`,
    );
  }
  switch (name) {
    case 'step':
      return (samples) => {
        const passed = STEP_MILESTONES.filter((share) => samples >= share * runSamples).length;
        return warmUp(samples) * STEP_FACTOR ** passed;
      };
    case 'cosine':
      return (samples) => {
        if (samples < warmUpSamples) return warmUp(samples);
        const done = (Math.min(samples, runSamples) - warmUpSamples) / (runSamples - warmUpSamples);
        return (1 + Math.cos(Math.PI * Math.min(1, done))) / 2;
      };
    default:
      return name satisfies never;
  }
}

/**
 * The samples of a `--warm-up`: below 1 a share of the run, from 1 on a number of samples. Throws `bad-option` for
 * anything else, for a share of a run of unknown length, and for a warm-up that lasts as long as the run.
 */
export function warmUpSamplesOf(warmUp: number, runSamples: number | null): number {
  const isShare = warmUp >= 0 && warmUp < 1;
  if (!isShare && !(Number.isSafeInteger(warmUp) && warmUp >= 1)) {
    throw new PreduceError(
      'bad-option',
      `--warm-up: expected a share of the run below 1, or a whole number of samples, got ${warmUp}`,
    );
  }
  if (warmUp === 0) return 0;
  if (isShare) {
    if (runSamples !== null) return warmUp * runSamples;
    throw new PreduceError(
      'bad-option',
      `--warm-up: expected samples, as the run's length is not known, got the share ${warmUp}: set --epochs or --steps`,
    );
  }
  if (runSamples !== null && warmUp >= runSamples) {
    throw new PreduceError(
      'bad-option',
      `--warm-up: expected fewer than the ${runSamples} samples of the run, got ${warmUp}`,
    );
  }
  return warmUp;
}

/** Samples of a run that ends by epochs, by local steps of all workers, or by whichever comes first; null: by neither. */
export function runSamplesOf(length: {
  readonly sampleCount: number;
  readonly batchSamples: number;
  readonly epochs: number | null;
  readonly steps: number | null;
}): number | null {
  const { sampleCount, batchSamples, epochs, steps } = length;
  const byEpochs = epochs === null ? Number.POSITIVE_INFINITY : epochs * sampleCount;
  const bySteps = steps === null ? Number.POSITIVE_INFINITY : steps * batchSamples;
  const samples = Math.min(byEpochs, bySteps);
  return Number.isFinite(samples) ? samples : null;
}
