import { describe, expect, it } from 'vitest';
import { noConnectivity, type ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import { leaseId } from '../base/ids.js';
import type { CoreConfig, LedgerConfig } from './config.js';
import type { Standing } from './events.js';

const LEDGER: LedgerConfig = { sampleCount: 100, batchSamples: 10, leaseBatches: 2, epochs: 1 };

function away(worker: number, run: ScriptedRun): ScriptedRun {
  return run.suspected(worker);
}

describe('a life that comes back on a new connection', () => {
  it('keeps its number, and goes on from what it did alone', () => {
    const run = away(0, startedRun(2, noConnectivity()));
    run.returned(0, { k: 3, localSteps: 3, samples: 30 });
    expect(run.of('welcomeBack')).toMatchObject([{ worker: 0, incarnation: 1, ticket: 3 }]);
    expect(run.view(0)).toMatchObject({ k: 3, localSteps: 3, state: 'computing' });
    expect(run.run.progress).toEqual({ samples: 30, localSteps: 3 });
    run.ready(0).ready(1);
    expect(run.groups.at(-1)).toMatchObject({ kMax: 4 });
  });

  it('counts no step twice whose READY had arrived', () => {
    const run = away(0, startedRun(2, noConnectivity()).ready(0));
    run.returned(0, { k: 1, localSteps: 1, samples: 10 });
    expect(run.run.progress).toEqual({ samples: 10, localSteps: 1 });
    // Its signal is void: it went on alone.
    expect(run.run.queue).toEqual([]);
  });

  it('is in the queue again where it waits for an answer to its READY', () => {
    const run = away(0, startedRun(2, noConnectivity()).ready(0));
    run.returned(0, { k: 0, ready: { k: 1, finite: true }, localSteps: 1, samples: 10 });
    expect(run.run.queue).toEqual([0]);
    run.ready(1);
    expect(run.formed()).toEqual([[0, 1]]);
  });

  it('is told again that it goes on alone', () => {
    const run = startedRun(2, noConnectivity());
    run.lost(1).ready(0);
    expect(run.of('release')).toHaveLength(1);
    away(0, run).returned(0, { k: 0, ready: { k: 1, finite: true }, localSteps: 1, samples: 10 });
    expect(run.of('release')).toMatchObject([{ worker: 0, k: 1 }]);
    expect(run.view(0).state).toBe('computing');
  });

  it('ends its group for itself, also where its former connection was not missed', () => {
    const run = startedRun(3, noConnectivity()).ready(0).ready(1);
    const [group] = run.groups;
    run.returned(0, { k: 1, localSteps: 1, samples: 10 });
    expect(run.of('abortGroup')).toMatchObject([{ group: group?.id }]);
    run.aborted(1);
    expect(run.of('groupClosed')).toMatchObject([{ aborted: true }]);
    run.ready(0);
    expect(run.formed().at(-1)).toEqual([1, 0]);
  });

  it('has the k of a group whose DONE was lost', () => {
    const run = startedRun(2, noConnectivity()).ready(0).ready(1);
    away(0, run).returned(0, { k: 4, localSteps: 1, samples: 10 });
    expect(run.view(0)).toMatchObject({ k: 4 });
  });

  it('is told again that the run ends', () => {
    const run = away(0, startedRun(2, noConnectivity())).step({ type: 'stop', reason: 'enough' });
    run.returned(0);
    expect(run.of('finish')).toMatchObject([{ worker: 0, reason: 'enough' }]);
    run.say('finished', 0).say('finished', 1);
    expect(run.groups.at(-1)).toMatchObject({ kind: 'final' });
  });

  it('is in the final group where it has finished', () => {
    const run = away(0, startedRun(2, noConnectivity())).step({ type: 'stop', reason: 'enough' });
    run.say('finished', 1).returned(0, { doing: 'finished' });
    expect(run.formed()).toEqual([[0, 1]]);
  });

  it('gets a donor again where it has no model', () => {
    const run = startedRun(2).join().suspected(2).returned(2, { doing: 'joining', k: null });
    expect(run.of('transfer')).toMatchObject([{ joiner: { worker: 2 } }]);
  });

  it('is told to start again', () => {
    const run = startedRun(2).join();
    away(2, run.synced(2)).returned(2, { doing: 'waiting', k: 0 });
    expect(run.of('start')).toMatchObject([{ worker: 2 }]);
  });

  it('is told at once to finish where the run ends meanwhile, and it had never started', () => {
    const run = startedRun(2).join();
    away(2, run.synced(2).step({ type: 'stop', reason: 'enough' })).returned(2, { doing: 'waiting', k: 0 });
    expect(run.effects.filter(({ type }) => type === 'start' || type === 'finish')).toMatchObject([
      { type: 'start', worker: 2 },
      { type: 'finish', worker: 2, reason: 'enough' },
    ]);
  });

  it('is waited for from its return on, where it has taken a step', () => {
    const run = startedRun(2, noConnectivity({ groupSize: 3 }))
      .join()
      .synced(2);
    away(2, run).returned(2, { k: 1, localSteps: 1, samples: 10 });
    run.ready(0).ready(1);
    expect(run.groups).toEqual([]);
    run.ready(2);
    expect(run.formed()).toEqual([[0, 1, 2]]);
  });

  it('weighs by the samples since it held an average, with those that it took alone', () => {
    const run = startedRun(2, noConnectivity({ weighting: 'samples' }))
      .ready(0)
      .ready(1)
      .done(0, 1);
    away(0, run).returned(0, {
      k: 1,
      ready: { k: 2, finite: true },
      localSteps: 4,
      samples: 40,
      samplesSinceGroup: 30,
    });
    run.ready(1);
    expect(run.groups.at(-1)?.members.map(({ worker, weight }) => [worker, weight])).toEqual([
      [0, 0.75],
      [1, 0.25],
    ]);
  });

  it('has none of the steps that it took alone in a checkpoint that was answered before', () => {
    const run = startedRun(2, noConnectivity({ ledger: LEDGER, checkpoints: { everySamples: 20, everyMs: null } }));
    run.requestLease(0).requestLease(1).ready(0).ready(1).done(0, 1);
    const checkpointed = (worker: number, lease: number): void => {
      const part = { k: 1, lease: leaseId(lease), processed: 10, bytes: 1, sha256: '' };
      run.step({ type: 'checkpointed', ...run.life(worker), checkpoint: 1, part });
    };
    checkpointed(0, 0);
    // It completes its lease and takes two steps that nobody hears of.
    away(0, run).returned(0, { doing: 'idle', k: 3, localSteps: 3, samples: 30, finished: 0 });
    checkpointed(1, 1);
    expect(run.of('checkpoint')).toMatchObject([{ progress: { samples: 20, localSteps: 2 } }]);
    const open = run.of('checkpoint')[0]?.ledger?.open.map(({ id, start, count }) => [id, start, count]);
    expect(open).toEqual([
      [0, 10, 10],
      [1, 30, 10],
      [2, 40, 20],
    ]);
  });

  it('gives up the checkpoint that waits for it', () => {
    const run = startedRun(2, noConnectivity({ checkpoints: { everySamples: 10, everyMs: null } })).ready(1);
    expect(run.of('askCheckpoint')).toHaveLength(1);
    away(0, run).returned(0);
    expect(run.of('checkpointFailed')).toMatchObject([{ worker: 0, checkpoint: 1 }]);
  });
});

describe('the lease of a life that comes back', () => {
  function working(): ScriptedRun {
    return startedRun(2, noConnectivity({ ledger: LEDGER })).requestLease(0);
  }

  it('stays its own', () => {
    const run = away(0, working()).returned(0, { lease: 0 });
    run.requestLease(1);
    expect(run.of('lease')).toMatchObject([{ worker: 1, lease: { id: 1 } }]);
    run.requestLease(0, 0);
    expect(run.of('lease')).toMatchObject([{ worker: 0, lease: { id: 2 } }]);
  });

  it('is done where it says so, and the next one follows', () => {
    const run = away(0, working()).returned(0, { doing: 'idle', finished: 0 });
    expect(run.of('lease')).toMatchObject([{ worker: 0, lease: { id: 1 } }]);
  });

  it('is given again where it never arrived', () => {
    const run = away(0, working()).returned(0, { doing: 'idle' });
    expect(run.of('lease')).toMatchObject([{ worker: 0, lease: { id: 0 } }]);
  });

  it('is given to others where the worker has finished', () => {
    const run = away(0, working()).returned(0, { doing: 'finished' }).requestLease(1);
    expect(run.of('lease')).toMatchObject([{ worker: 1, lease: { id: 0 } }]);
  });
});

describe('a life that cannot go on', () => {
  const all = { ledger: LEDGER };
  const cases: readonly (readonly [string, Partial<Standing>, Partial<CoreConfig>])[] = [
    ['fewer steps than it had taken', { localSteps: 0 }, all],
    ['fewer samples', { samples: 9 }, all],
    ['a smaller k', { k: 0 }, all],
    ['a lease that it does not hold', { lease: 7 }, all],
    ['no model any more', { doing: 'joining', k: null }, all],
    ['a wait for data where there is none', { doing: 'idle' }, { ledger: null }],
  ];

  it.each(cases)('comes back with %s', (_, standing, overrides) => {
    const run = startedRun(1, overrides).ready(0);
    expect(run.of('release')).toHaveLength(1);
    away(0, run).returned(0, standing);
    expect(run.of('returnRefused')).toMatchObject([{ ticket: 2, rejoin: true }]);
    expect(run.of('dead')).toMatchObject([{ worker: 0 }]);
  });

  it('was declared dead', () => {
    const run = startedRun(2).lost(0).returned(0);
    expect(run.types()).toEqual(['returnRefused']);
  });

  it('comes after the end of the run', () => {
    const run = startedRun(1).step({ type: 'stop', reason: 'enough' }).say('finished', 0).done(0).returned(0);
    expect(run.of('returnRefused')).toMatchObject([{ rejoin: false, reason: expect.stringContaining('over') }]);
  });

  it.each(['all-reduce', 'eager-reduce'] as const)('lacks a round of %s', (strategy) => {
    const run = startedRun(3, { strategy, eager: 'solo' }).suspected(0).ready(1).ready(2);
    expect(run.formed()).toEqual([[1, 2]]);
    run.returned(0);
    expect(run.of('returnRefused')).toMatchObject([{ rejoin: true }]);
  });

  it('lacks a round of all-reduce, and was only silent', () => {
    const run = startedRun(3, { strategy: 'all-reduce' }).suspected(0).ready(1).ready(2).say('resumed', 0);
    expect(run.of('dead')).toMatchObject([{ worker: 0 }]);
  });
});
