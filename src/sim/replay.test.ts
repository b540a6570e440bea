import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../observe/run-events.js';
import { createRecordedRun, type RecordedRun } from './recorded-run.js';
import { replay } from './replay.js';
import { resolveSimulation, type SimulateOptions } from './simulate-options.js';
import { simulate, type SimulationResult } from './simulate.js';

interface Simulated {
  readonly recorded: RecordedRun;
  readonly result: SimulationResult;
}

/** A simulated run and its record, as a real one would have left it. */
function simulated(options: SimulateOptions): Simulated {
  const { core, workerCount } = resolveSimulation(options);
  const builder = createRecordedRun({ core, training: { workerCount } }, 'a run');
  const result = simulate(options, builder.add);
  return { recorded: builder.result(), result };
}

const machines: SimulateOptions = {
  workers: 6,
  groupSize: 3,
  slow: ['hl:2'],
  noise: 0.4,
  computeMs: 50,
  latencyMs: 0.7,
  modelBytes: 4e6,
  bitsPerSecond: 1e9,
  steps: 300,
};

describe('replay of a simulated run', () => {
  it.each<[string, SimulateOptions]>([
    ['partial-reduce', {}],
    ['partial-reduce on a slow way to the controller', { controlLatencyMs: 5 }],
    ['partial-reduce with filter window', { filter: 'window', groupSize: 2 }],
    ['all-reduce', { strategy: 'all-reduce' }],
    ['local-sgd', { strategy: 'local-sgd', localSteps: 4 }],
    ['a worker alone', { workers: 1, slow: [] }],
    ['a ring', { strategy: 'all-reduce', collective: 'ring' }],
  ])('gives the times and the groups of %s', (_, options) => {
    const { recorded, result } = simulated({ ...machines, ...options });
    const { predicted, errors, modelBytes } = replay(recorded);
    expect(predicted.wallSeconds / result.wallSeconds).toBeCloseTo(1, 2);
    expect(Math.abs(predicted.groups - result.groups)).toBeLessThanOrEqual(1);
    expect(predicted.localSteps).toBe(result.localSteps);
    result.stepsPerWorker.forEach((steps, worker) => {
      expect(Math.abs((predicted.stepsPerWorker[worker] ?? 0) - steps)).toBeLessThanOrEqual(1);
    });
    expect(predicted.idleShare).toBeCloseTo(result.idleShare, 2);
    expect(predicted.reduceShare).toBeCloseTo(result.reduceShare, 2);
    expect(errors?.wallSeconds).toBeCloseTo(predicted.wallSeconds / result.wallSeconds - 1, 9);
    expect(modelBytes).toBe(result.groups === 0 ? 0 : 4e6);
  });

  it('reads off the record what the run was made of', () => {
    const options = { ...machines, noise: 0, controlLatencyMs: 3 };
    const { trace, collectives, controlLatencyMs } = simulated(options).recorded.times;
    expect(controlLatencyMs).toBeCloseTo(3, 9);
    expect([...trace.byWorker.keys()].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
    for (const [worker, times] of trace.byWorker) {
      for (const milliseconds of times) expect(milliseconds).toBeCloseTo(worker < 4 ? 50 : 100, 6);
    }
    // By hand: two rounds of a third of the model from each to two others.
    expect(collectives.get(3)?.meanMs).toBeCloseTo(2 * (0.7 + (2 * 4e6 * 8) / 3 / 1e6), 3);
  });

  it('tells what another strategy costs on the same machines', () => {
    const ours = simulated(machines);
    const theirs = simulated({ ...machines, strategy: 'all-reduce' }).result;
    const { predicted, errors, strategy, recordedStrategy } = replay(ours.recorded, { strategy: 'all-reduce' });
    expect([recordedStrategy, strategy, errors]).toEqual(['partial-reduce', 'all-reduce', null]);
    // Collectives of six are not in the record: they follow from those of three.
    expect(predicted.wallSeconds / theirs.wallSeconds).toBeGreaterThan(0.95);
    expect(predicted.wallSeconds / theirs.wallSeconds).toBeLessThan(1.05);
    expect(predicted.groups).toBe(theirs.groups);
    expect(replay(ours.recorded, { groupSize: 2 }).errors).toBeNull();
    expect(replay(ours.recorded, { weights: 'constant' }).errors).not.toBeNull();
  });

  it('is as long as a run that was ended early', () => {
    const { recorded, result } = simulated({ ...machines, steps: 5000, durationMs: 4000 });
    expect(result.localSteps).toBeLessThan(1000);
    expect(Math.abs(replay(recorded).errors?.wallSeconds ?? 1)).toBeLessThan(0.1);
  });
});

describe('what cannot be played', () => {
  const core = { strategy: 'all-reduce', weights: { rule: 'constant' } };
  const config = { core, training: { workerCount: 2 } };
  const at = (timeMs: number, event: Readonly<Record<string, unknown>>): RunEvent => ({ timeMs, ...event }) as RunEvent;
  const ready = (worker: number): RunEvent => at(5, { type: 'ready', worker, k: 1, samples: 1, finite: true });
  const started = at(0, { type: 'started', workers: [0, 1] });
  const ended = at(9, { type: 'runEnded', reason: 'done', holders: [0], samples: 2, localSteps: 2 });

  it.each<[string, readonly RunEvent[], RegExp]>([
    ['nothing', [], /got a run: it has no end, worker 0 took no step in it$/],
    ['a run without steps', [started, ended], /got a run: worker 0 took no step in it$/],
    ['a run that was killed', [started, ready(0), ready(1)], /it has no end$/],
    ['a death', [started, ready(0), ready(1), at(6, { type: 'workerDead', worker: 1 }), ended], /worker 1 died$/],
    [
      'a late joiner',
      [started, ready(0), ready(1), at(6, { type: 'workerSynced', worker: 2 }), ended],
      /joined it late$/,
    ],
    ['a resumed run', [started, ready(0), ready(1), at(6, { type: 'resumed', checkpoint: 3 }), ended], /checkpoint 3$/],
  ])('refuses %s', (_, events, message) => {
    const builder = createRecordedRun(config, 'a run');
    for (const event of events) builder.add(event);
    expect(() => builder.result()).toThrow(
      expect.objectContaining({ code: 'bad-data', message: expect.stringMatching(message) }),
    );
  });

  it.each<[unknown, RegExp]>([
    [null, /^--replay: expected the record of a training run in there, got something else at ""/],
    [{ core }, /got something else at "training"/],
    [{ ...config, training: { workerCount: 0 } }, /got something else at "training.workerCount"/],
    [{ ...config, core: { ...core, strategy: 'ps-aps' } }, /unknown strategy "ps-aps"/],
  ])('refuses the settings %o', (bad, message) => {
    expect(() => createRecordedRun(bad, 'there')).toThrow(message);
  });

  it('refuses what no strategy can do', () => {
    const { recorded } = simulated(machines);
    expect(() => replay(recorded, { groupSize: 7 })).toThrow('--group-size: expected at most the 6 workers');
    expect(() => replay(recorded, { strategy: 'ps-aps' })).toThrow('unknown strategy "ps-aps"');
  });
});
