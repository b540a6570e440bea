/**
 * The same run once per strategy: same seed, same emulated devices, same reference time; repeats interleaved, so that a
 * drift of the machine's speed meets every strategy alike.
 */
import { join } from 'node:path';
import { PreduceError } from '../base/errors.js';
import { unknownNameMessage } from '../base/nearest.js';
import { idealSpeedUp, parseSlowDown } from '../training/slow-down.js';
import { type ComparisonOutput, createComparisonOutput, type ComparisonResult } from './comparison-output.js';
import type { RunResult } from './run-output.js';
import { type ResolvedRun, type RunOptions, STRATEGY_NAMES } from './run-options.js';
import { prepareRun, type TrainHooks, train, withReferenceTime } from './train.js';

export interface CompareOptions
  extends Omit<RunOptions, 'strategy' | 'weights' | 'stopAtTarget' | 'checkpointEvery'>,
    TrainHooks {
  /** `partial-reduce`, `partial-reduce:constant`, `all-reduce` … Default: partial-reduce with both weights, all-reduce. */
  readonly strategies?: readonly string[];
  /** Runs of each, with seeds `seed`, `seed + 1` …; medians are reported. Default 1. */
  readonly repeat?: number;
  readonly out?: string | null;
  /** Called before each run, with its title. */
  readonly onRun?: (title: string) => void;
}

/** One column of a comparison. */
export interface Contender {
  readonly label: string;
  readonly options: Pick<RunOptions, 'strategy' | 'weights'>;
}

const DEFAULT_STRATEGIES = ['partial-reduce', 'partial-reduce:constant', 'all-reduce'];

/** Parses `NAME` or `NAME:WEIGHTS`. Throws `bad-option`. */
export function parseContender(text: string): Contender {
  const [strategy = '', weights] = text.split(':', 2);
  if (!STRATEGY_NAMES.some((known) => known === strategy)) {
    throw new PreduceError('bad-option', unknownNameMessage('strategy', strategy, STRATEGY_NAMES));
  }
  if (weights === undefined) {
    return { label: strategy === 'partial-reduce' ? 'partial-reduce:dynamic' : strategy, options: { strategy } };
  }
  if (strategy !== 'partial-reduce' || (weights !== 'dynamic' && weights !== 'constant')) {
    throw new PreduceError(
      'bad-option',
      `--strategies: expected NAME, partial-reduce:dynamic or partial-reduce:constant, got "${text}"`,
    );
  }
  return { label: text, options: { strategy, weights } };
}

/** Runs the comparison and writes its directory. Throws what `train` throws. */
export async function compare(options: CompareOptions): Promise<ComparisonResult> {
  const { strategies, repeat = 1, out, ...shared } = options;
  if (!Number.isSafeInteger(repeat) || repeat < 1) {
    throw new PreduceError('bad-option', `--repeat: expected a whole number of at least 1, got ${repeat}`);
  }
  const contenders = (strategies ?? DEFAULT_STRATEGIES).map(parseContender);
  const labels = new Set(contenders.map((contender) => contender.label));
  if (labels.size < contenders.length) {
    throw new PreduceError('bad-option', `--strategies: each can be named once, got ${(strategies ?? []).join(',')}`);
  }
  const first = await prepareRun(shared);
  const output = await createComparisonOutput({ directory: out ?? null });
  try {
    return await runAll(first, { contenders, repeat, shared, output });
  } catch (error) {
    await output.abandon();
    throw error;
  }
}

interface Comparison {
  readonly contenders: readonly Contender[];
  readonly repeat: number;
  readonly shared: Omit<CompareOptions, 'strategies' | 'repeat' | 'out'>;
  readonly output: ComparisonOutput;
}

async function runAll(first: ResolvedRun, comparison: Comparison): Promise<ComparisonResult> {
  const { contenders, repeat, shared: options, output } = comparison;
  const { training } = await withReferenceTime(first, options);
  const targetAccuracy = options.targetAccuracy ?? first.workload.defaults.targetAccuracy;
  const isInterrupted = (): boolean => options.signal?.aborted ?? false;
  const results: { readonly label: string; readonly result: RunResult }[] = [];
  for (let round = 0; round < repeat && !isInterrupted(); round += 1) {
    for (const { label, options: own } of contenders) {
      if (isInterrupted()) break;
      const suffix = repeat === 1 ? '' : `-${round + 1}`;
      options.onRun?.(repeat === 1 ? label : `${label} (repeat ${round + 1} of ${repeat})`);
      const running = train({
        ...options,
        ...own,
        referenceMs: training.referenceMs,
        seed: training.seed + round,
        targetAccuracy,
        stopAtTarget: false,
        // Writing them would be measured.
        checkpointEvery: null,
        label,
        out: join(output.directory, `${label.replace(':', '-')}${suffix}`),
      });
      const result = await running.catch((error: unknown) => {
        // Interrupted before this one started: what is there already is shown.
        if (isInterrupted() && results.length > 0) return null;
        throw error;
      });
      if (result !== null) results.push({ label, result });
    }
  }
  return output.finish(results, {
    targetAccuracy,
    referenceMs: training.referenceMs,
    idealSpeedUp: idealSpeedUp(training.slow.map(parseSlowDown), training.workerCount),
  });
}
