import { describe, expect, it } from 'vitest';
import { noConnectivity, type ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import type { CoreConfig } from './config.js';

describe('groups', () => {
  it('are of the first P that are ready, and run side by side', () => {
    const run = startedRun(4, noConnectivity()).ready(3).ready(1);
    expect(run.of('formGroup')).toHaveLength(1);
    run.ready(0).ready(2);
    expect(run.formed()).toEqual([
      [3, 1],
      [0, 2],
    ]);
    expect(new Set(run.groups.map(({ id }) => id)).size).toBe(2);
    expect(run.run.progress).toEqual({ samples: 40, localSteps: 4 });
  });

  it('give every member the k of the freshest, and close when all are done', () => {
    const run = startedRun(3, { ...noConnectivity(), weights: { rule: 'dynamic', alpha: 0.9, gap: 'freshest' } });
    run.ready(0).ready(1).done(0, 1).ready(0).ready(2);
    const group = run.lastGroupOf(0);
    expect(group).toMatchObject({ kind: 'step', kMax: 2 });
    expect(group.members.map(({ worker, k }) => [worker, k])).toEqual([
      [0, 2],
      [2, 1],
    ]);
    expect(group.members[0]?.weight).toBeCloseTo(0.526316, 6);
    run.done(2);
    expect(run.of('groupClosed')).toEqual([]);
    run.done(0);
    expect(run.of('groupClosed')).toEqual([{ type: 'groupClosed', group, committed: [0, 2], aborted: false }]);
    expect([run.view(0).k, run.view(2).k]).toEqual([2, 2]);
  });

  it('do not take a member again before its last group has closed', () => {
    const run = startedRun(3, noConnectivity()).ready(0).ready(1).done(0).ready(0).ready(2);
    expect(run.formed()).toEqual([[0, 1]]);
    expect(run.view(0).waitReason).toBe('waiting for its last group to end');
    run.done(1);
    expect(run.formed()[1]).toEqual([0, 2]);
  });

  it('are smaller than P where fewer are alive; one goes on alone', () => {
    const run = startedRun(3, { groupSize: 3 }).lost(2).ready(0).ready(1);
    expect(run.formed()).toEqual([[0, 1]]);
    run.done(0, 1).lost(1).ready(0);
    expect(run.of('release')).toEqual([
      { type: 'release', worker: 0, incarnation: 1, k: 2, progress: { samples: 30, localSteps: 3 } },
    ]);
    expect(run.view(0)).toMatchObject({ state: 'computing', k: 2 });
  });

  it('wake a worker that waits when the last of the others dies', () => {
    const run = startedRun(2).ready(0);
    expect(run.effects).toEqual([]);
    run.lost(1);
    expect(run.of('release')).toHaveLength(1);
  });

  it('skip a member whose values are not finite', () => {
    const run = startedRun(2).ready(0, 1, false).ready(1);
    expect(run.lastGroupOf(0).members.map(({ weight }) => weight)).toEqual([0, 1]);
    run.done(0, 1).ready(0).ready(1);
    expect(run.lastGroupOf(0).members.map(({ weight }) => weight)).toEqual([0.5, 0.5]);
  });
});

describe('weighting by samples', () => {
  const bySamples = noConnectivity({ weighting: 'samples' });

  function weightsOf(run: ScriptedRun, worker: number): readonly number[] {
    return run.lastGroupOf(worker).members.map(({ weight }) => weight);
  }

  it('counts what each took in since its last group', () => {
    const run = startedRun(2, bySamples).ready(0, 1, true, 30).ready(1, 1, true, 10);
    expect(weightsOf(run, 0)).toEqual([0.75, 0.25]);
    run.done(0, 1).ready(0, 2, true, 10).ready(1, 2, true, 10);
    expect(weightsOf(run, 0)).toEqual([0.5, 0.5]);
  });

  it('counts the samples of an aborted group again, and those of steps taken alone', () => {
    const run = startedRun(3, bySamples).ready(0, 1, true, 30).ready(1, 1, true, 10).lost(1).aborted(0).lost(2);
    expect(run.of('release')).toHaveLength(1);
    run.join().synced(3).ready(3, 1, true, 10).ready(0, 2, true, 10);
    expect(run.formed()[1]).toEqual([3, 0]);
    expect(weightsOf(run, 0)).toEqual([0.2, 0.8]);
  });

  it('makes the mean gradient of all-reduce one of samples, of this round only', () => {
    const run = startedRun(2, { ...bySamples, strategy: 'all-reduce' })
      .ready(0, 1, true, 30)
      .ready(1, 1, true, 10);
    expect(weightsOf(run, 0)).toEqual([0.75, 0.25]);
  });

  it('does not touch the final average', () => {
    const run = startedRun(2, bySamples).ready(0, 1, true, 30).ready(1, 1, true, 10).done(0, 1);
    run.say('finished', 0).ready(1, 2, true, 50).say('finished', 1);
    expect(weightsOf(run, 0)).toEqual([0.5, 0.5]);
  });
});

describe('an aborted member', () => {
  it('gets its old place in the queue', () => {
    const run = startedRun(4, noConnectivity({ groupSize: 3 }))
      .ready(2)
      .ready(0)
      .ready(1)
      .ready(3);
    expect(run.formed()).toEqual([[2, 0, 1]]);
    run.lost(1);
    expect(run.of('abortGroup')[0]?.members.map(({ worker }) => worker)).toEqual([2, 0]);
    run.aborted(0).aborted(2);
    expect(run.formed()[1]).toEqual([2, 0, 3]);
    expect(run.lastGroupOf(0).members.map(({ k }) => k)).toEqual([1, 1, 1]);
  });

  it('that gives up by itself aborts the group for those who have not reported', () => {
    const run = startedRun(3, noConnectivity({ groupSize: 3 }))
      .ready(0)
      .ready(1)
      .ready(2)
      .done(2)
      .aborted(0);
    expect(run.of('abortGroup')[0]?.members).toEqual([run.life(1)]);
    expect(run.of('groupClosed')).toEqual([]);
    // It was done before the message came
    run.done(1);
    expect(run.of('groupClosed')[0]).toMatchObject({ committed: [1, 2], aborted: true });
    expect([0, 1, 2].map((worker) => run.view(worker).k)).toEqual([0, 1, 1]);
  });

  it('counts for nothing in rho', () => {
    const run = startedRun(3, noConnectivity()).ready(0).ready(1);
    expect(run.rho()).not.toBeNull();
    run.aborted(0);
    expect(run.rho()).toBeNull();
  });
});

describe('holding for connectivity', () => {
  const held = { connectivityGroups: 3, holdTimeoutMs: 500 } as const;

  /** Four workers of which 0 and 1 alone are ready, for the second time. */
  function holdingRun(overrides: Partial<CoreConfig> = {}): ScriptedRun {
    const run = startedRun(4, { ...held, ...overrides });
    return run.ready(0).ready(1).done(0, 1).ready(0).ready(1);
  }

  it('waits for another component, says for whom, and counts the time', () => {
    const run = holdingRun();
    expect(run.formed()).toEqual([[0, 1]]);
    expect(run.view(0).waitReason).toMatch(/^held for connectivity: .*worker [23] computing for/);
    run.step({ type: 'ready', ...run.life(2), k: 1, samples: 10, finite: true }, 100);
    expect(run.formed()[1]).toEqual([0, 2]);
    expect(run.run).toMatchObject({ holdMs: 100, holdsExpired: 0 });
  });

  it('gives up at the time-out, and does not wait again for those who did not come until they do', () => {
    const run = holdingRun();
    const dueMs = run.deadlineMs ?? Number.NaN;
    expect(dueMs).toBe(run.nowMs + 500);
    run.step({ type: 'tick' }, dueMs - run.nowMs - 1);
    expect(run.formed()).toHaveLength(1);
    run.step({ type: 'tick' });
    expect(run.formed()[1]).toEqual([0, 1]);
    expect(run.of('log')[0]?.message).toContain('500 ms');
    expect(run.run).toMatchObject({ holdMs: 500, holdsExpired: 1 });
    run.done(0, 1).ready(0).ready(1);
    expect(run.formed()[2]).toEqual([0, 1]);
    run.done(0, 1).ready(2);
    run.ready(0);
    expect(run.formed()[3]).toEqual([2, 0]);
  });

  it('lasts 10 iterations of the slowest by default, and a second at the least', () => {
    const run = holdingRun({ holdTimeoutMs: 'auto' });
    expect(run.deadlineMs).toBe(run.nowMs + 1000);
    const slow = startedRun(3, { connectivityGroups: 2, holdTimeoutMs: 'auto' });
    slow
      .step({ type: 'ready', ...slow.life(2), k: 1, samples: 10, finite: true }, 400)
      .ready(0)
      .done(2, 0);
    slow.ready(0).ready(2);
    // Worker 2 took 400 ms, worker 0 took 401; both were quick then, but the median of two is the longer one.
    expect(slow.deadlineMs).toBe(slow.nowMs + 10 * 401);
  });

  it('ends when those who are missing die or finish', () => {
    const run = holdingRun({ connectivityGroups: 2 }).lost(2);
    expect(run.formed()).toHaveLength(1);
    run.say('finished', 3);
    expect(run.formed()[1]).toEqual([0, 1]);
  });

  it('is not done while the run drains', () => {
    expect(holdingRun().step({ type: 'stop', reason: 'enough' }).formed()[1]).toEqual([0, 1]);
  });
});
