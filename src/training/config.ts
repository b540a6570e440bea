/**
 * What a training run is made of, as the controller tells its workers in `welcome`.
 */
import { z } from 'zod';
import { PreduceError } from '../base/errors.js';
import type { StrategyName } from '../core/config.js';
import { strategies } from '../core/strategies/strategies.js';
import { scheduleConfigSchema } from './schedule.js';

const trainingConfigSchema = z.object({
  workload: z.string(),
  /** Where the data lies at each worker; null: what the package ships. */
  dataDirectory: z.string().nullable(),
  strategy: z.enum(Object.keys(strategies) as StrategyName[]),
  /** H of local SGD. */
  localSteps: z.number().int().positive().default(8),
  seed: z.number().int().nonnegative(),
  workerCount: z.number().int().positive(),
  batchSamples: z.number().int().positive(),
  learningRate: z.number().positive(),
  /** What `learningRate` is multiplied by in the course of the run. */
  schedule: scheduleConfigSchema,
  optimizer: z.enum(['sgd', 'adamw']),
  /** Of SGD; AdamW has averages of its own. */
  momentum: z.number().min(0).lt(1),
  nesterov: z.boolean(),
  weightDecay: z.number().nonnegative(),
  /** Whether partial reduce averages the optimizers' states with the replicas. */
  averageOptimizer: z.boolean(),
  /** Threads of the engine in each worker. */
  threads: z.number().int().positive(),
  /** `--slow` specifications, and the reference time of an iteration that they multiply (ms); null: run at full speed. */
  slow: z.array(z.string()),
  referenceMs: z.number().positive().nullable(),
  /** Number of the checkpoint that the run goes on from; left out: a run from the beginning. */
  resumeFrom: z.number().int().positive().optional(),
});

export type TrainingConfig = z.infer<typeof trainingConfigSchema>;

/** Checks what a controller sent. Throws `bad-config`. */
export function parseTrainingConfig(value: unknown): TrainingConfig {
  const parsed = trainingConfigSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new PreduceError(
    'bad-config',
    `expected the settings of a training run from the controller, got something else at "${issue?.path.join('.') ?? ''}": ` +
      `${issue?.message ?? ''}. A run for hand-written workers is joined with joinRun`,
  );
}
