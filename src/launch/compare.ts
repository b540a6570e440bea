/**
 * The same run once per strategy, in processes of this machine: same seed, same emulated devices, same reference time.
 */
import { join } from 'node:path';
import type { TunedStrategy } from '../observe/tuning-record.js';
import { idealSpeedUp, parseSlowDown } from '../training/slow-down.js';
import { checkRepeat, type ComparedRun, conductComparison, type RunRequest } from './comparison.js';
import { type ComparisonOutput, createComparisonOutput, type ComparisonResult } from './comparison-output.js';
import { type Contender, DEFAULT_STRATEGIES, parseContenders } from './contenders.js';
import { reportRun } from './report-run.js';
import { type ResolvedRun, type RunOptions, resolveRun } from './run-options.js';
import { prepareRun, type TrainHooks, train, withReferenceTime } from './train.js';
import { planTuning, type TuningOptions } from './tuning.js';

export interface CompareOptions extends Omit<RunOptions, 'strategy' | 'checkpointEvery'>, TuningOptions, TrainHooks {
  /** `partial-reduce`, `partial-reduce:constant`, `all-reduce` …, or `all`. Default: partial-reduce with both weights, all-reduce. */
  readonly strategies?: readonly string[];
  /** Runs of each, with seeds `seed`, `seed + 1` …; medians are reported. Default 1. */
  readonly repeat?: number;
  /** Whether reaching the target ends a run. Default false: what accuracy costs shows at the end only. */
  readonly stopAtTarget?: boolean;
  readonly out?: string | null;
  /** Called before each run, with its title. */
  readonly onRun?: (title: string) => void;
  /** Called when a strategy's learning rate is chosen. */
  readonly onTuned?: (tuned: TunedStrategy) => void;
}

/** Options of a single run. */
type SharedOptions = Omit<RunOptions, 'strategy'> & TrainHooks;

/** Runs the comparison and writes its directory. Throws what `train` throws. */
export async function compare(options: CompareOptions): Promise<ComparisonResult> {
  const { strategies, repeat = 1, stopAtTarget = false, out, tune, tuned, onRun, onTuned, ...given } = options;
  checkRepeat(repeat);
  const contenders = parseContenders(strategies ?? DEFAULT_STRATEGIES, { defaults: given });
  // Writing checkpoints would be measured.
  const shared: SharedOptions = { ...given, checkpointEvery: null };
  const first = await prepareAll(contenders, shared);
  const { learningRate } = given;
  const { seed } = first.training;
  const work = first.workload.name;
  const tuning = await planTuning({ tune: tune ?? null, tuned: tuned ?? [] }, { contenders, work, seed, learningRate });
  const output = await createComparisonOutput({ directory: out ?? null });
  const isInterrupted = (): boolean => given.signal?.aborted ?? false;
  try {
    const { training } = await withReferenceTime(first, given);
    const { referenceMs } = training;
    const targetAccuracy = given.targetAccuracy ?? first.workload.defaults.targetAccuracy;
    const run = (request: RunRequest): Promise<ComparedRun> =>
      runOnce(request, { shared: { ...shared, referenceMs, targetAccuracy }, output });
    return await conductComparison(
      { contenders, repeat, seed, stopAtTarget, tuning },
      { run, isInterrupted, onRun, onTuned },
      {
        output,
        facts: {
          targetAccuracy,
          targetLoss: null,
          stopAtTarget,
          referenceMs,
          idealSpeedUp: idealSpeedUp(training.slow.map(parseSlowDown), training.workerCount),
          isSimulated: false,
        },
      },
    );
  } catch (error) {
    await output.abandon();
    throw error;
  }
}

/** Checks the options for every contender before the first of them runs; the first one's. */
async function prepareAll([first, ...others]: readonly Contender[], shared: SharedOptions): Promise<ResolvedRun> {
  const resolved = await prepareRun({ ...shared, ...first?.options });
  const sampleCount = resolved.core.ledger?.sampleCount ?? 0;
  for (const { options } of others) resolveRun({ ...shared, ...options }, sampleCount);
  return resolved;
}

async function runOnce(
  { contender: { label, options: own }, name, seed, learningRate, stopAtTarget }: RunRequest,
  { shared, output }: { readonly shared: SharedOptions; readonly output: ComparisonOutput },
): Promise<ComparedRun> {
  const result = await train({
    ...shared,
    ...own,
    ...(learningRate === null ? {} : { learningRate }),
    seed,
    stopAtTarget,
    label,
    out: join(output.directory, name),
  });
  const { summary, settings, interrupted } = result;
  return { summary, page: reportRun(result), settings, interrupted };
}
