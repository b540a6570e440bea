/**
 * One run of a report, from its directory: everything is made from the events anew, so that a run that was killed, and
 * never wrote its summary, can be shown too.
 */
import { basename, resolve } from 'node:path';
import { z } from 'zod';
import { PreduceError } from '../base/errors.js';
import { createRunStructure } from '../observe/run-structure.js';
import type { RunEvent } from '../observe/run-events.js';
import { readRunConfig, readRunEvents, type StoredEvents } from '../observe/stored-run.js';
import { createSummary, type SummaryFacts } from '../observe/summary.js';
import type { ReportFact, ReportRun } from './report-input.js';

export interface LoadedRun {
  readonly run: ReportRun;
  /** Absolute path. */
  readonly directory: string;
  /** What tells settings apart: equal for repeats of the same settings, whatever their seeds. */
  readonly settingsKey: string;
  readonly targetAccuracy: number | null;
  readonly referenceMs: number | null;
  readonly settings: readonly ReportFact[];
  /** Where it ran; empty where the record does not tell. */
  readonly environment: readonly ReportFact[];
  readonly notes: readonly string[];
}

const factSchema = z.object({ name: z.string(), value: z.union([z.string(), z.number()]) });

const trainingSchema = z.looseObject({
  workerCount: z.int().min(1).optional(),
  seed: z.int().optional(),
  referenceMs: z.number().nullable().optional(),
});

/** What a report needs of config.json; `preduce controller` calls some of it by other names. */
const configSchema = z.looseObject({
  label: z.string().optional(),
  core: z.looseObject({
    strategy: z.string(),
    groupSize: z.int().min(1).optional(),
    weights: z.looseObject({ rule: z.enum(['dynamic', 'constant']) }).optional(),
    minWorkers: z.int().min(1).optional(),
  }),
  training: trainingSchema.optional(),
  config: trainingSchema.optional(),
  targetAccuracy: z.number().nullable().optional(),
  stopAtAccuracy: z.number().nullable().optional(),
  settings: z.array(factSchema).optional(),
  environment: z.array(factSchema).optional(),
});

type StoredConfig = z.infer<typeof configSchema>;

/**
 * Reads a run directory. Throws `data-missing` (no run there, or one that never started), `bad-data`,
 * `version-mismatch`.
 */
export async function loadRun(directory: string): Promise<LoadedRun> {
  const config = parseConfig(await readRunConfig(directory), directory);
  const referenceMs = (config.training ?? config.config)?.referenceMs ?? null;
  const facts = factsOf(config, directory);
  const summary = createSummary(facts);
  const structure = createRunStructure();
  let started = false;
  let ended = false;
  let steps = 0;
  let overruns = 0;
  const { eventCount, truncated } = await readRunEvents(directory, (event: RunEvent) => {
    summary.add(event);
    structure.add(event);
    if (event.type === 'started') started = true;
    if (event.type === 'runEnded') ended = true;
    if (event.type === 'ready') {
      steps += event.steps ?? 1;
      if (event.overrun) overruns += 1;
    }
  });
  if (!started) {
    throw new PreduceError(
      'data-missing',
      `expected a run in ${directory}, got the record of one that never started: there is nothing to report`,
    );
  }
  return {
    run: {
      label: labelOf(config),
      summary: summary.result(),
      evaluations: summary.evaluations(),
      workerTimes: summary.workerTimes(),
      overrunShare: referenceMs === null || steps === 0 ? null : overruns / steps,
      structure: structure.result(),
    },
    directory: resolve(directory),
    settingsKey: settingsKeyOf(config),
    targetAccuracy: facts.targetAccuracy,
    referenceMs,
    settings: config.settings ?? [],
    environment: config.environment ?? [],
    notes: ended ? [] : [incompleteNote(directory, { eventCount, truncated })],
  };
}

/** Its last event, `runEnded`, is missing. */
function incompleteNote(directory: string, { eventCount, truncated }: StoredEvents): string {
  const why = truncated ? 'its last line is cut off' : 'it has no end: the run was killed, or is still going on';
  return `The record of ${basename(resolve(directory))} is not whole (${why}): what it says up to then is shown, ${eventCount} events.`;
}

function factsOf({ core, training, config, targetAccuracy, stopAtAccuracy }: StoredConfig, directory: string) {
  const told = training ?? config;
  return {
    strategy: core.strategy,
    workers: told?.workerCount ?? core.minWorkers ?? 0,
    groupSize: core.groupSize ?? 2,
    weights: core.strategy === 'partial-reduce' ? (core.weights?.rule ?? 'dynamic') : null,
    seed: told?.seed ?? 0,
    targetAccuracy: targetAccuracy ?? stopAtAccuracy ?? null,
    out: resolve(directory),
  } satisfies SummaryFacts;
}

function labelOf({ label, core }: StoredConfig): string {
  if (label !== undefined) return label;
  return core.strategy === 'partial-reduce' && core.weights !== undefined
    ? `${core.strategy}:${core.weights.rule}`
    : core.strategy;
}

/** Everything but the seed, which the core's draws have too, and the reference time, which is measured anew for each run. */
function settingsKeyOf({ core, training, config, targetAccuracy, settings }: StoredConfig): string {
  const { seed: _seed, referenceMs: _referenceMs, ...told } = training ?? config ?? {};
  const { seed: _coreSeed, ...grouping } = core;
  return JSON.stringify({ grouping, told, targetAccuracy, settings });
}

function parseConfig(stored: unknown, directory: string): StoredConfig {
  const parsed = configSchema.safeParse(stored);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`;
  throw new PreduceError(
    'bad-data',
    `expected config.json of ${directory} to be a run's, got a problem${where}: ${issue?.message ?? 'unknown'}`,
  );
}
