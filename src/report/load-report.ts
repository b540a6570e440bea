/**
 * What a report shows, from directories: each a run's, or one that holds runs' (a comparison).
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { messageOf, PreduceError } from '../base/errors.js';
import { RECORD_FILES } from '../observe/run-record.js';
import { expectDirectory } from '../observe/stored-run.js';
import { tunedStrategySchema } from '../observe/tuning-record.js';
import { type LoadedRun, loadRun } from './load-run.js';
import type { ReportFact, ReportInput, ReportRun } from './report-input.js';

/** What a comparison writes beside its runs. */
const COMPARISON_FILE = 'compare.json';

const comparisonSchema = z.looseObject({
  idealSpeedUp: z.number().nullable().optional(),
  stopAtTarget: z.boolean().optional(),
  tuned: z.array(tunedStrategySchema).nullable().optional(),
  entries: z.array(z.looseObject({ runs: z.array(z.looseObject({ out: z.string().nullable() })) })),
});

interface SourcedRun extends LoadedRun {
  /** Name of the directory that was asked for. */
  readonly source: string;
}

interface Found {
  readonly runs: readonly string[];
  /** What a comparison tells of all its runs. */
  readonly told: Pick<ReportInput, 'idealSpeedUp' | 'stopAtTarget' | 'tuned'>;
  readonly notes: readonly string[];
}

/**
 * Reads one or several directories. Throws `data-missing` (no such directory, no run in it, a run that never started),
 * `bad-data` (a damaged file), `version-mismatch` (a newer Preduce wrote it).
 */
export async function loadReport(directories: readonly string[]): Promise<ReportInput> {
  const found: Found[] = [];
  const loaded: SourcedRun[] = [];
  for (const directory of directories) {
    const next = await findRuns(directory);
    found.push(next);
    for (const run of next.runs) {
      // The same directory named twice is one run.
      if (loaded.some((known) => known.directory === resolve(run))) continue;
      loaded.push({ ...(await loadRun(run)), source: basename(resolve(directory)) });
    }
  }
  const references = new Set(loaded.map((run) => run.referenceMs));
  const runs = distinctLabels(loaded);
  return {
    runs,
    targetAccuracy: loaded[0]?.targetAccuracy ?? null,
    referenceMs: references.size === 1 ? ([...references][0] ?? null) : null,
    // Of one comparison alone: others may have other devices, ends and rates.
    idealSpeedUp: null,
    ...(found.length === 1 ? found[0]?.told : {}),
    notes: [...found.flatMap(({ notes }) => notes), ...loaded.flatMap(({ notes }) => notes)],
    settings: mergeFacts(loaded.map(({ settings }, index) => ({ label: runs[index]?.label ?? '', facts: settings }))),
    environment: mergeFacts(
      loaded.map(({ environment }, index) => ({ label: runs[index]?.label ?? '', facts: environment })),
    ),
  };
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The directory itself, or those in it, in the order of the comparison that made them. */
async function findRuns(directory: string): Promise<Found> {
  await expectDirectory(directory);
  if (await exists(join(directory, RECORD_FILES.config))) return { runs: [directory], told: {}, notes: [] };
  const names: string[] = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory() && (await exists(join(directory, entry.name, RECORD_FILES.config)))) names.push(entry.name);
  }
  if (names.length === 0) {
    throw new PreduceError(
      'data-missing',
      `expected a run directory, got ${directory}: neither it nor a directory in it has a ${RECORD_FILES.config}`,
    );
  }
  const path = join(directory, COMPARISON_FILE);
  if (!(await exists(path)))
    return { runs: names.toSorted().map((name) => join(directory, name)), told: {}, notes: [] };
  const { entries, idealSpeedUp = null, stopAtTarget = false, tuned = null } = await readComparison(path);
  const told = entries.flatMap((entry) => entry.runs.flatMap(({ out }) => (out === null ? [] : [basename(out)])));
  const ordered = [
    ...told.filter((name) => names.includes(name)),
    ...names.filter((name) => !told.includes(name)).toSorted(),
  ];
  const gone = told.filter((name) => !names.includes(name));
  return {
    runs: ordered.map((name) => join(directory, name)),
    told: { idealSpeedUp, stopAtTarget, tuned },
    notes: gone.length === 0 ? [] : [`Runs of the comparison that are not there any more: ${gone.join(', ')}.`],
  };
}

async function readComparison(path: string): Promise<z.infer<typeof comparisonSchema>> {
  try {
    return comparisonSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    const why = error instanceof z.ZodError ? (error.issues[0]?.message ?? '') : messageOf(error);
    throw new PreduceError('bad-data', `expected ${path} to be a comparison's, got "${why}"`, { cause: error });
  }
}

/**
 * Runs of one label are shown as repeats, so those of other settings get the name of the directory that was asked for,
 * or, where that is not enough, of their own.
 */
function distinctLabels(loaded: readonly SourcedRun[]): readonly ReportRun[] {
  const suffixes: readonly ((of: SourcedRun) => string)[] = [
    () => '',
    ({ source }) => ` (${source})`,
    ({ directory }) => ` (${directory})`,
  ];
  const labelsBy = suffixes.map((suffixOf) => loaded.map((of) => of.run.label + suffixOf(of)));
  return loaded.map(({ run, settingsKey }, index) => {
    const isClear = (labels: readonly string[]): boolean =>
      loaded.every((other, at) => labels[at] !== labels[index] || other.settingsKey === settingsKey);
    const labels = labelsBy.find(isClear) ?? labelsBy.at(-1);
    return { ...run, label: labels?.[index] ?? run.label };
  });
}

interface Labelled {
  readonly label: string;
  readonly facts: readonly ReportFact[];
}

/** Facts that all agree on once; others with who says what. */
export function mergeFacts(all: readonly Labelled[]): readonly ReportFact[] {
  const names = [...new Set(all.flatMap(({ facts }) => facts.map(({ name }) => name)))];
  return names.map((name) => {
    const said = all.map(({ label, facts }) => ({
      label,
      value: facts.find((fact) => fact.name === name)?.value ?? null,
    }));
    const values = new Set(said.map(({ value }) => value));
    const first = said[0]?.value ?? null;
    if (values.size === 1 && first !== null) return { name, value: first };
    const parts = said.map(({ label, value }) => `${label}: ${value ?? 'not told'}`);
    return { name, value: [...new Set(parts)].join('; ') };
  });
}
