/**
 * `preduce compare --simulate`: the same table and report, of runs in virtual time. It costs no processes and takes as many
 * workers as a simulation does; one seed gives one result.
 */
import { PreduceError } from '../base/errors.js';
import { formatBytes, formatDuration } from '../base/units.js';
import { checkRepeat, type ComparedRun, conductComparison, type RunRequest } from '../launch/comparison.js';
import { createComparisonOutput, type ComparisonResult } from '../launch/comparison-output.js';
import { type Contender, DEFAULT_STRATEGIES, parseContenders } from '../launch/contenders.js';
import { planTuning, type TuningOptions } from '../launch/tuning.js';
import { createRunStructure } from '../observe/run-structure.js';
import type { TunedStrategy } from '../observe/tuning-record.js';
import { createWorkerTimes } from '../observe/worker-time.js';
import type { ReportFact } from '../report/report-input.js';
import { type ResolvedSimulation, resolveSimulation, type SimulateOptions } from '../sim/simulate-options.js';
import { simulate } from '../sim/simulate.js';
import { idealSpeedUp } from '../training/slow-down.js';

export interface CompareSimulatedOptions extends TuningOptions {
  readonly simulation: Omit<SimulateOptions, 'strategy' | 'stopAtTarget'>;
  readonly strategies?: readonly string[];
  readonly repeat?: number;
  readonly stopAtTarget?: boolean;
  readonly out?: string | null;
  readonly signal: AbortSignal;
  readonly onRun: (title: string) => void;
  readonly onTuned: (tuned: TunedStrategy) => void;
}

/** Simulates the comparison and writes its directory. Throws what `simulate` throws, `out-dir-unusable`, `aborted`. */
export async function compareSimulated(options: CompareSimulatedOptions): Promise<ComparisonResult> {
  const { simulation, strategies, repeat = 1, stopAtTarget = false, signal, onRun, onTuned } = options;
  checkRepeat(repeat);
  const contenders = parseContenders(strategies ?? DEFAULT_STRATEGIES, { defaults: simulation });
  const resolved = resolveAll(contenders, simulation);
  const { seed, source, compute, workerCount, target } = resolved;
  if (stopAtTarget && target === null) {
    throw new PreduceError(
      'bad-option',
      '--stop-at-target: expected a --target-loss or --target-accuracy beside it, got none',
    );
  }
  const tuning = await planTuning(options, {
    contenders,
    work: source.name,
    seed,
    learningRate: simulation.learningRate,
  });
  const output = await createComparisonOutput({ directory: options.out ?? null });
  try {
    return await conductComparison(
      { contenders, repeat, seed, stopAtTarget, tuning },
      {
        run: (request) => simulateOnce(request, simulation, resolved),
        isInterrupted: () => signal.aborted,
        onRun,
        onTuned,
      },
      {
        output,
        facts: {
          targetAccuracy: target?.of === 'accuracy' ? target.value : null,
          targetLoss: target?.of === 'loss' ? target.value : null,
          stopAtTarget,
          referenceMs: compute.trace === null ? compute.referenceMs : null,
          idealSpeedUp: compute.trace === null ? idealSpeedUp(compute.slow, workerCount) : null,
          isSimulated: true,
        },
      },
    );
  } catch (error) {
    await output.abandon();
    throw error;
  }
}

/** Checks the options for every contender before the first is simulated; the first one's. */
function resolveAll(
  [first, ...others]: readonly Contender[],
  simulation: CompareSimulatedOptions['simulation'],
): ResolvedSimulation {
  for (const { options } of others) resolveSimulation({ ...simulation, ...options });
  return resolveSimulation({ ...simulation, ...first?.options });
}

async function simulateOnce(
  { contender: { label, options: own }, seed, learningRate, stopAtTarget }: RunRequest,
  simulation: CompareSimulatedOptions['simulation'],
  resolved: ResolvedSimulation,
): Promise<ComparedRun> {
  // A simulation takes no breath: signals are heard between two.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  const structure = createRunStructure();
  const times = createWorkerTimes();
  const { curve, ...summary } = simulate(
    { ...simulation, ...own, seed, stopAtTarget, ...(learningRate === null ? {} : { learningRate }) },
    (event) => {
      structure.add(event);
      times.add(event);
    },
  );
  const evaluations = curve.map(({ timeMs, samples, accuracy, loss }) => ({
    timeMs,
    samples,
    accuracy,
    loss: Number.isFinite(loss) ? loss : null,
  }));
  const page = { label, summary, evaluations, workerTimes: times.result(), structure: structure.result() };
  const rate = learningRate ?? resolved.learningRate;
  return { summary, page, settings: settingsOf(resolved, simulation, rate), interrupted: false };
}

/** What was simulated, for the end of the report. */
function settingsOf(
  { source, problem, compute, network, batchSamples, momentum, durationMs, core }: ResolvedSimulation,
  { slow = [], noise = 0 }: SimulateOptions,
  learningRate: number,
): readonly ReportFact[] {
  const rate = Number.isFinite(network.bitsPerSecond) ? `${network.bitsPerSecond / 1e6} Mbit/s each way` : 'unlimited';
  const ends = [
    ...(core.maxLocalSteps === null
      ? []
      : [`${core.maxLocalSteps.toLocaleString('en-US')} local steps of all workers`]),
    ...(durationMs === null ? [] : [`${formatDuration(durationMs)} of virtual time`]),
  ];
  const devices = [...slow, ...(noise === 0 ? [] : [`log-normal noise ${noise}`])];
  return [
    { name: 'Simulated', value: `${source.name} of ${problem.dimension} parameters: times are virtual` },
    { name: 'Length', value: ends.join(', or ') },
    { name: 'Batch', value: `${batchSamples} samples per worker and step` },
    {
      name: 'Optimizer',
      value: `SGD, learning rate ${learningRate}, momentum ${momentum}`,
    },
    { name: 'Iteration', value: compute.trace === null ? formatDuration(compute.referenceMs) : 'as in the trace' },
    { name: 'Slow devices', value: devices.length === 0 ? 'none' : devices.join(', ') },
    {
      name: 'Network',
      value: `${formatBytes(network.modelBytes)} exchanged, ${rate}, latency ${network.latencyMs} ms, to the controller ${network.controlLatencyMs} ms`,
    },
  ];
}
