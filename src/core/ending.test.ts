import { describe, expect, it } from 'vitest';
import { assertPresent } from '../base/assert.js';
import { noConnectivity, ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';

describe('the drain and the final average', () => {
  it('tells all to finish, then averages all replicas with equal weights', () => {
    const run = startedRun(3).step({ type: 'stop', reason: 'the deadline has come' });
    expect(run.of('finish').map(({ worker }) => worker)).toEqual([0, 1, 2]);
    run.say('finished', 0).say('finished', 1);
    expect(run.of('formGroup')).toEqual([]);
    run.say('finished', 2);
    expect(run.lastGroupOf(0)).toMatchObject({ kind: 'final' });
    expect(run.lastGroupOf(0).members.map(({ weight }) => weight)).toEqual([1 / 3, 1 / 3, 1 / 3]);
    run.done(0, 1, 2);
    expect(run.of('runEnded')[0]).toMatchObject({ holders: [0, 1, 2], reason: 'the deadline has come' });
    expect(run.deadlineMs).toBeNull();
  });

  it('groups fewer than P, and lets one go alone', () => {
    const run = startedRun(3, { groupSize: 3 }).ready(0).ready(1).step({ type: 'stop', reason: 'enough' });
    expect(run.formed()).toEqual([[0, 1]]);
    run.ready(2);
    expect(run.of('release').map(({ worker }) => worker)).toEqual([2]);
  });

  it('does not wait for workers that have not got the model', () => {
    const run = startedRun(1).join().step({ type: 'stop', reason: 'enough' });
    expect(run.of('left').map(({ worker }) => worker)).toEqual([1]);
    run.say('finished', 0).done(0);
    expect(run.of('runEnded')[0]?.holders).toEqual([0]);
  });

  it('lets joiners without the model go in the same step that forms the final group', () => {
    const run = startedRun(1).join().say('finished', 0);
    expect(run.types()).toEqual(['left', 'formGroup']);
  });

  it('ends a run that never started', () => {
    const run = new ScriptedRun({ minWorkers: 5 }).join().join().synced(0).step({ type: 'stop', reason: 'enough' });
    expect(run.of('left')).toHaveLength(2);
    expect(run.of('runEnded')[0]?.holders).toEqual([]);
  });

  it('makes the final average again among the survivors of a death', () => {
    const run = startedRun(3).step({ type: 'stop', reason: 'enough' });
    run.say('finished', 0).say('finished', 1).say('finished', 2).done(0).lost(2);
    expect(run.of('abortGroup')[0]?.members).toEqual([run.life(1)]);
    expect(run.of('runEnded')).toEqual([]);
    run.aborted(1);
    expect(run.formed()).toEqual([
      [0, 1, 2],
      [0, 1],
    ]);
    run.done(1, 0);
    expect(run.of('runEnded')[0]?.holders).toEqual([0, 1]);
  });

  it('waits for a suspect to come back or die before the final average', () => {
    const run = startedRun(2, { livenessMs: 50 }).step({ type: 'stop', reason: 'enough' });
    run.say('finished', 1).suspected(1).say('finished', 0);
    expect(run.of('formGroup')).toEqual([]);
    run.step({ type: 'tick' }, 50);
    expect(run.formed()).toEqual([[0]]);
  });

  it('comes when enough local steps were taken', () => {
    const run = startedRun(2, { maxLocalSteps: 4 }).ready(0).ready(1).done(0, 1).ready(0);
    expect(run.of('finish')).toEqual([]);
    run.ready(1);
    expect(run.of('finish').map(({ worker }) => worker)).toEqual([0, 1]);
    run.done(0, 1).say('finished', 0).say('finished', 1).done(0, 1);
    expect(run.of('runEnded')[0]).toMatchObject({ reason: '4 local steps were taken', holders: [0, 1] });
  });

  it('comes when all have finished of their own accord', () => {
    const run = startedRun(2).say('finished', 0).ready(1);
    expect(run.of('release')).toHaveLength(1);
    run.say('finished', 1);
    expect(run.lastGroupOf(0).kind).toBe('final');
  });
});

describe('leases', () => {
  const ledger = { sampleCount: 40, batchSamples: 10, leaseBatches: 2, epochs: 1 } as const;

  function leaseOf(run: ScriptedRun) {
    return assertPresent(run.of('lease')[0], 'a lease').lease;
  }

  /** Two workers that have taken both leases. */
  function leasedRun(count = 2): ScriptedRun {
    return startedRun(count, { ...noConnectivity(), ledger })
      .requestLease(0)
      .requestLease(1);
  }

  it('are given in order, and end the run when all are finished', () => {
    const run = startedRun(2, { ledger }).requestLease(0);
    expect(leaseOf(run)).toEqual({ id: 0, epoch: 0, start: 0, count: 20 });
    run.requestLease(1);
    expect(leaseOf(run)).toEqual({ id: 1, epoch: 0, start: 20, count: 20 });
    run.ready(0).ready(1).done(0, 1).ready(0).ready(1).done(0, 1);
    run.requestLease(0, 0);
    expect(run.types()).toEqual([]);
    expect(run.view(0)).toMatchObject({ state: 'idle', waitReason: 'waiting for work' });
    run.requestLease(1, 1);
    expect(run.of('finish').map(({ reason }) => reason)).toEqual(Array(2).fill('all data were processed'));
    run.say('finished', 0).say('finished', 1).done(0, 1);
    expect(run.of('runEnded')[0]).toMatchObject({ holders: [0, 1], progress: { samples: 40, localSteps: 4 } });
  });

  it('of the dead go to a worker that waits for work', () => {
    const run = leasedRun(3).requestLease(2);
    expect(run.effects).toEqual([]);
    run.lost(0);
    expect(run.of('lease')[0]).toMatchObject({ worker: 2, lease: { id: 0 } });
  });

  it('of suspects wait for their return or their death', () => {
    const run = leasedRun(3).requestLease(2).suspected(0);
    expect(run.of('lease')).toEqual([]);
    run.step({ type: 'tick' }, 5000);
    expect(run.of('lease')[0]).toMatchObject({ worker: 2, lease: { id: 0 } });
  });

  it('of leavers and of those who finish of their own accord go to others', () => {
    const run = leasedRun(3).requestLease(2).say('leaving', 0);
    expect(run.of('lease')[0]).toMatchObject({ worker: 2, lease: { id: 0 } });
    const other = leasedRun(3).requestLease(2).say('finished', 1);
    expect(other.of('lease')[0]).toMatchObject({ worker: 2, lease: { id: 1 } });
  });

  it.each<[string, (run: ScriptedRun) => ScriptedRun, string]>([
    ['finished by who does not hold it', (run) => run.requestLease(0, 1), 'finished lease 1, which it does not hold'],
    ['asked for while one is held', (run) => run.requestLease(0), 'holds one that is not finished'],
    ['asked for while queued', (run) => run.ready(0).requestLease(0, 0), 'asked for a lease while queued'],
  ])('%s are a violation', (_, act, message) => {
    expect(act(leasedRun()).of('violation')[0]?.message).toContain(message);
  });
});

describe('evaluation', () => {
  it('is asked for once for each mark passed, of all that hold the model and are there', () => {
    const run = startedRun(3, noConnectivity({ evaluateEverySamples: 20 })).ready(0);
    expect(run.of('evaluate')).toEqual([]);
    run.suspected(2).ready(1);
    expect(run.of('evaluate')).toEqual([
      { type: 'evaluate', mark: 1, progress: { samples: 20, localSteps: 2 }, workers: [0, 1] },
    ]);
    run.done(0, 1).ready(0);
    expect(run.of('evaluate')).toEqual([]);
    run.step({ type: 'ready', ...run.life(1), k: 2, samples: 50, finite: true });
    expect(run.of('evaluate')[0]?.mark).toBe(4);
  });
});
