/**
 * `preduce simulate --replay DIR`: the run recorded in a directory, played again in virtual time, or another strategy on its machines.
 */
import type { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import { formatBytes } from '../base/units.js';
import { readRunConfig, readRunEvents } from '../observe/stored-run.js';
import { createRecordedRun, type RecordedRun } from '../sim/recorded-run.js';
import { type Replay, type ReplayFigures, replay, type ReplayOptions } from '../sim/replay.js';
import { defined } from './defined.js';
import { isGiven } from './option-sources.js';
import type { SimulateFlags } from './simulate.js';
import { formatTable } from './table.js';

/** Flags that have a meaning beside --replay; all else is in the record. */
const REPLAY_FLAGS: ReadonlySet<string> = new Set([
  '--replay',
  '--strategy',
  '--strategies',
  '--group-size',
  '--local-steps',
  '--eager',
  '--collective',
  '--filter',
  '--weights',
  '--weighting',
  '--alpha',
  '--gap',
  '--connectivity-groups',
  '--json',
  '--debug',
  '--config',
]);

/** Throws `bad-option` for a flag that says what the record says. */
function checkMeaning(command: Command): void {
  for (const option of command.options) {
    const name = option.long ?? '';
    if (!isGiven(command, option.attributeName()) || REPLAY_FLAGS.has(name)) continue;
    throw new PreduceError('bad-option', `${name}: expected none beside --replay: the record says it, leave it out`);
  }
}

/** Reads a run directory. Throws `data-missing`, `bad-data`, `version-mismatch`. */
async function readRecordedRun(directory: string): Promise<RecordedRun> {
  const builder = createRecordedRun(await readRunConfig(directory), directory);
  await readRunEvents(directory, builder.add);
  return builder.result();
}

export async function runReplay(directory: string, flags: SimulateFlags, command: Command): Promise<void> {
  checkMeaning(command);
  const recorded = await readRecordedRun(directory);
  const {
    strategy,
    groupSize,
    localSteps,
    eager,
    collective,
    weights,
    weighting,
    alpha,
    gap,
    filter,
    connectivityGroups,
  } = flags;
  const grouping = { weights, weighting, alpha, gap, filter, connectivityGroups };
  const options: ReplayOptions = defined({ strategy, groupSize, localSteps, eager, collective, ...grouping });
  if (flags.strategies === undefined) {
    const result = replay(recorded, options);
    process.stdout.write(flags.json === true ? `${JSON.stringify(result)}\n` : describeReplay(result, directory));
    return;
  }
  const { parseContenders } = await import('../launch/contenders.js');
  const contenders = parseContenders(flags.strategies.split(','), { defaults: options });
  const results = contenders.map(({ options: own }) => replay(recorded, { ...options, ...own }));
  if (flags.json === true) process.stdout.write(`${JSON.stringify(results)}\n`);
  else process.stdout.write(results.map((result) => describeReplay(result, directory)).join('\n'));
}

function percent(share: number, digits = 1): string {
  return `${(100 * share).toFixed(digits)} %`;
}

function signed(text: string): string {
  return text.startsWith('-') ? text : `+${text}`;
}

/** Of the slowest and of the fastest. */
function rangeText({ stepsPerWorker }: ReplayFigures): string {
  return `${Math.min(...stepsPerWorker)} to ${Math.max(...stepsPerWorker)}`;
}

const ROWS: readonly (readonly [string, Exclude<keyof ReplayFigures, 'stepsPerWorker'>, (value: number) => string])[] =
  [
    ['wall time', 'wallSeconds', (value) => `${value.toFixed(2)} s`],
    ['local steps', 'localSteps', String],
    ['groups', 'groups', String],
    ['time per update', 'updateMs', (value) => `${value.toFixed(1)} ms`],
    ['waiting', 'idleShare', percent],
    ['in collectives', 'reduceShare', percent],
  ];

/** What was measured and what was predicted, beside each other. */
function describeReplay(result: Replay, directory: string): string {
  const { recorded, predicted, errors, strategy, recordedStrategy, workers, controlLatencyMs, modelBytes } = result;
  const title =
    errors === null
      ? `${strategy}, predicted from ${recordedStrategy} in ${directory}`
      : `${strategy} in ${directory}, played again`;
  const rows = ROWS.map(([name, key, format]) => {
    const [real, virtual] = [recorded[key], predicted[key]];
    const isShare = key === 'idleShare' || key === 'reduceShare';
    const change = isShare
      ? `${(100 * (virtual - real)).toFixed(1)} points`
      : percent(real === virtual ? 0 : virtual / real - 1);
    return [name, format(real), format(virtual), signed(change)];
  });
  rows.push(['steps of a worker', rangeText(recorded), rangeText(predicted), '']);
  const header =
    errors === null
      ? ['', `${recordedStrategy}, measured`, `${strategy}, predicted`, 'difference']
      : ['', 'measured', 'predicted', 'error'];
  return (
    `${title}: ${workers} workers, ${formatBytes(modelBytes)} exchanged, ` +
    `${controlLatencyMs.toFixed(2)} ms to the controller\n${formatTable(header, rows)}\n`
  );
}
