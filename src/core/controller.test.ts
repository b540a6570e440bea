import { describe, expect, it } from 'vitest';
import { noConnectivity, ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import type { Group } from './group.js';

describe('protocol violations end the life of who commits them', () => {
  it.each<[string, (run: ScriptedRun) => ScriptedRun, string]>([
    ['a second READY while queued', (run) => run.ready(0).ready(0), 'READY while queued'],
    ['READY while grouped', (run) => run.ready(0).ready(1).ready(0), 'READY while grouped'],
    ['READY with a k that leaps', (run) => run.ready(0, 5), 'READY with k 5: expected 1'],
    [
      'DONE without a group',
      (run) => run.step({ type: 'done', ...run.life(0), group: 1 as Group['id'] }),
      'its open group is none',
    ],
    ['DONE twice', (run) => run.ready(0).ready(1).done(0).done(0), 'its open group is none'],
    ['the model without having asked', (run) => run.synced(0), 'holds the model while computing'],
    ['finished while queued', (run) => run.ready(0).say('finished', 0), 'finished while queued'],
    ['a lease where there is no data', (run) => run.requestLease(0), 'asked for a lease'],
  ])('%s', (_, act, message) => {
    const run = act(startedRun(3));
    expect(run.of('violation')[0]?.message).toContain(message);
    expect(run.of('dead')[0]).toMatchObject({ worker: 0 });
    expect(run.run.workers.map(({ worker }) => worker)).toEqual([1, 2]);
  });

  it('and abort its group for the rest', () => {
    const run = startedRun(3).ready(0).ready(1).ready(0);
    expect(run.of('abortGroup')[0]?.members).toEqual([run.life(1)]);
  });
});

describe('all-reduce', () => {
  const allReduce = { strategy: 'all-reduce' } as const;

  it('groups everybody, every round', () => {
    const run = startedRun(3, allReduce).ready(2).ready(0);
    expect(run.formed()).toEqual([]);
    expect(run.view(0).waitReason).toContain('waiting 2/3: worker 1 computing');
    run.ready(1);
    expect(run.formed()).toEqual([[2, 0, 1]]);
    expect(run.lastGroupOf(0).members.map(({ weight }) => weight)).toEqual([1 / 3, 1 / 3, 1 / 3]);
  });

  it('takes a joiner only between rounds, and makes the next round wait for it', () => {
    const run = startedRun(2, allReduce).join();
    expect(run.of('transfer')).toEqual([]);
    run.ready(0).ready(1);
    // All are between rounds: the joiner gets the model before they go on.
    expect(run.of('transfer')[0]?.joiner.worker).toBe(2);
    expect(run.formed()).toEqual([]);
    run.synced(2).ready(2);
    expect(run.formed()).toEqual([[0, 1, 2]]);
  });

  it('gives a joiner the model of the present round, not that of a worker which finished before', () => {
    const run = startedRun(3, allReduce).ready(0).ready(1).ready(2).done(0, 1, 2).say('finished', 0);
    run.ready(1).ready(2).done(1, 2).join().ready(1).ready(2);
    expect(run.of('transfer')[0]).toMatchObject({ joiner: { worker: 3 }, donor: { worker: 1 } });
  });

  it('goes on without a joiner that dies while it fetches the model', () => {
    const run = startedRun(2, allReduce).join().ready(0).ready(1).lost(2);
    expect(run.formed()).toEqual([[0, 1]]);
  });

  it('goes on without a worker that dies or becomes suspect', () => {
    const run = startedRun(3, allReduce).ready(0).ready(1).lost(2);
    expect(run.formed()).toEqual([[0, 1]]);
    run.done(0, 1).ready(0).suspected(1);
    expect(run.of('release').map(({ worker }) => worker)).toEqual([0]);
  });
});

describe('the controller', () => {
  it('refuses a bad configuration', () => {
    expect(() => new ScriptedRun({ groupSize: 1 })).toThrow('group size: expected 2 or more, got 1');
  });

  it('does not let time run backwards', () => {
    expect(() => startedRun(2).step({ type: 'tick' }, -1)).toThrow('time runs backwards');
  });

  it('says nothing more after the end', () => {
    const run = startedRun(1).say('finished', 0).done(0);
    expect(run.of('runEnded')).toHaveLength(1);
    expect(run.step({ type: 'tick' }).effects).toEqual([]);
    expect(run.ready(0, 2).effects).toEqual([]);
    expect(run.step({ type: 'stop', reason: 'again' }).effects).toEqual([]);
  });

  it('reports rho of uniform pairs of three', () => {
    const run = startedRun(3, noConnectivity());
    for (const [a, b] of [
      [0, 1],
      [1, 2],
      [0, 2],
    ] as const) {
      run.ready(a).ready(b).done(a, b);
    }
    expect(run.rho()).toBeCloseTo(0.5, 8);
  });

  it('puts its term into the ids of groups', () => {
    const run = startedRun(2, { term: 3 }).ready(0).ready(1);
    expect(run.groups[0]?.id).toBe(3 * 2 ** 32);
  });
});
