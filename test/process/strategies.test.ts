/**
 * Strategies beside partial reduce and all-reduce in real processes, with one worker four times slower: they learn, replicas that
 * should be the same are, and the death of one worker ends nothing.
 */
import { type RunEvent, type RunResult, train, type TrainOptions } from 'preduce';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/thorough.js';
import { openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

const WORKERS = 4;
const STEPS = 240;
/** Long enough that it is the emulated devices that decide, on a busy machine too. */
const SLOW_STEPS = { referenceMs: 60, steps: 120 } as const;

let place: Workplace;
let data = '';
let runCount = 0;

beforeAll(async () => {
  place = await openWorkplace();
  data = place.path('data');
  await writeTinyDigits(data, { train: 640, test: 100 });
});

afterAll(() => place.close());

interface Told {
  readonly result: RunResult;
  readonly events: readonly RunEvent[];
}

/** Trains; `victim` is killed once it has taken its tenth step. */
async function trained(options: TrainOptions, victim: number | null = null): Promise<Told> {
  runCount += 1;
  const events: RunEvent[] = [];
  const pids = new Map<number, number>();
  let steps = 0;
  const result = await train({
    dataDirectory: data,
    workers: WORKERS,
    steps: STEPS,
    batchSamples: 16,
    slow: ['straggler:1,4'],
    referenceMs: 8,
    livenessMs: 2000,
    out: place.path(`run-${runCount}`),
    ...options,
    onEvent(event) {
      events.push(event);
      if (event.type === 'workerJoined') pids.set(event.worker, event.pid);
      if (event.type !== 'ready' || event.worker !== victim) return;
      steps += 1;
      const pid = pids.get(event.worker);
      if (steps === 10 && pid !== undefined) process.kill(pid, 'SIGKILL');
    },
  });
  return { result, events };
}

function eventsOf<T extends RunEvent['type']>({ events }: Told, type: T): readonly Extract<RunEvent, { type: T }>[] {
  return events.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type);
}

const STRATEGIES: readonly (readonly [string, TrainOptions])[] = [
  ['ad-psgd', { strategy: 'ad-psgd' }],
  ['eager-reduce, majority', { strategy: 'eager-reduce' }],
  ['local-sgd', { strategy: 'local-sgd', localSteps: 4 }],
  ['eager-reduce, solo', { strategy: 'eager-reduce', eager: 'solo' }],
];

describe.each(someOf(1, STRATEGIES))('%s', (_, options) => {
  it('learns, with one worker four times slower', async () => {
    const told = await trained(options);
    expect(told.result.summary.testAccuracy).toBeGreaterThan(0.9);
    expect(told.result.summary.localSteps).toBeGreaterThanOrEqual(STEPS);
    expect(eventsOf(told, 'fault')).toEqual([]);
    const [ended] = eventsOf(told, 'runEnded');
    expect(ended?.holders).toEqual([0, 1, 2, 3]);
  });

  // 1 is the slow one: in groups it is passive nearly always.
  it.each(someOf(1, [1, 2]))('goes on when worker %i is killed', async (victim) => {
    const told = await trained(options, victim);
    expect(eventsOf(told, 'workerDead').map(({ worker }) => worker)).toEqual([victim]);
    expect(told.result.summary.testAccuracy).toBeGreaterThan(0.9);
    expect(told.result.summary.localSteps).toBeGreaterThanOrEqual(STEPS);
    const [ended] = eventsOf(told, 'runEnded');
    expect(ended?.holders).toEqual([0, 1, 2, 3].filter((worker) => worker !== victim));
  });
});

describe('eager-reduce', () => {
  it.each(['majority', 'solo'] as const)(
    '%s: replicas are the same bit for bit before the final average',
    async (eager) => {
      const told = await trained({ strategy: 'eager-reduce', eager, optimizer: 'sgd', momentum: 0.9 });
      const checksums = eventsOf(told, 'logged').map(({ values }) => values['replicaChecksum']);
      expect(checksums).toHaveLength(WORKERS);
      expect(new Set(checksums).size).toBe(1);
    },
  );

  it('solo does not have the fast wait for the slow', async () => {
    const { result } = await trained({ strategy: 'eager-reduce', eager: 'solo', ...SLOW_STEPS });
    const [fast = 0, slow = 0] = result.summary.stepsPerWorker;
    expect(fast).toBeGreaterThan(1.5 * slow);
  });
});

describe('ad-psgd', () => {
  it('has even workers meet odd ones, who may be in the middle of a step', async () => {
    const told = await trained({ strategy: 'ad-psgd', ...SLOW_STEPS });
    const groups = eventsOf(told, 'groupFormed').filter(({ kind }) => kind === 'step');
    expect(groups.length).toBeGreaterThan(20);
    for (const { members } of groups) expect(members.map((worker) => worker % 2)).toEqual([0, 1]);
    expect(new Set(groups.map(({ members }) => members[1]))).toEqual(new Set([1, 3]));
    const [fast = 0, slow = 0] = told.result.summary.stepsPerWorker;
    expect(fast).toBeGreaterThan(1.5 * slow);
  });
});
