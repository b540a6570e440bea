/**
 * What a replay takes from the record of a real run: what it was asked for, its times, and how it went.
 */
import { z } from 'zod';
import { PreduceError } from '../base/errors.js';
import { type CoreConfig, defaultCoreConfig } from '../core/config.js';
import { validateCoreConfig } from '../core/validate-config.js';
import type { RunEvent } from '../observe/run-events.js';
import { createSummary, type RunSummary, summaryFactsOf } from '../observe/summary.js';
import { createRecordedTimes, type RecordedTimes } from './recorded-times.js';

export interface RecordedRun {
  readonly core: CoreConfig;
  readonly workerCount: number;
  readonly times: RecordedTimes;
  /** As it was measured. */
  readonly summary: RunSummary;
}

export interface RecordedRunBuilder {
  add(event: RunEvent): void;
  /** Throws `bad-data` where not all workers were there from the beginning to the end. */
  result(): RecordedRun;
}

/** The rest of core's settings is checked by core. */
const configSchema = z.object({
  core: z.looseObject({ strategy: z.string(), weights: z.looseObject({ rule: z.enum(['constant', 'dynamic']) }) }),
  training: z.looseObject({ workerCount: z.number().int().positive() }),
});

/** Takes a run's config.json and the directory's name, for errors; feed it its events then, in order. Throws `bad-data`, `bad-config`. */
export function createRecordedRun(config: unknown, name: string): RecordedRunBuilder {
  const parsed = configSchema.safeParse(config);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new PreduceError(
      'bad-data',
      `--replay: expected the record of a training run in ${name}, got something else at "${issue?.path.join('.') ?? ''}": ${issue?.message ?? ''}`,
    );
  }
  const { workerCount } = parsed.data.training;
  const core = defaultCoreConfig(parsed.data.core as Partial<CoreConfig>);
  validateCoreConfig(core);
  const times = createRecordedTimes();
  const summary = createSummary(
    summaryFactsOf(core, {
      workers: workerCount,
      seed: core.seed,
      targetAccuracy: null,
      out: null,
    }),
  );
  let hasEnded = false;

  function result(): RecordedRun {
    const recorded = times.result();
    const idle = Array.from({ length: workerCount }, (_, worker) => worker).find(
      (worker) => !recorded.trace.byWorker.has(worker),
    );
    const faults = [
      ...recorded.faults,
      ...(hasEnded ? [] : ['it has no end']),
      ...(idle === undefined ? [] : [`worker ${idle} took no step in it`]),
    ];
    if (faults.length > 0) {
      throw new PreduceError(
        'bad-data',
        `--replay: expected a run that all its workers began and ended, got ${name}: ${faults.slice(0, 3).join(', ')}`,
      );
    }
    return { core, workerCount, times: recorded, summary: summary.result() };
  }

  return {
    add(event) {
      times.add(event);
      summary.add(event);
      if (event.type === 'runEnded') hasEnded = true;
    },
    result,
  };
}
