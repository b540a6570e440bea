import { describe, expect, it } from 'vitest';
import { noConnectivity, type ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import { workerId } from '../base/ids.js';

const LIVENESS_MS = 5000;

function stalled(run: ScriptedRun, accuser: number, accused: number, group = run.lastGroupOf(accuser).id): ScriptedRun {
  const worker = workerId(accused);
  return run.step({ type: 'aborted', ...run.life(accuser), group, reason: 'nothing moved', stalled: worker });
}

function tick(run: ScriptedRun, afterMs: number): ScriptedRun {
  return run.step({ type: 'tick' }, afterMs);
}

/** Three workers, of which 0 and 1 are in a group. */
function groupOfTwo(): ScriptedRun {
  return startedRun(3, noConnectivity({ livenessMs: LIVENESS_MS }))
    .ready(0)
    .ready(1);
}

describe('a member that moves no data', () => {
  it('is held out of groups until it answers; its group is over for the others', () => {
    const run = stalled(groupOfTwo(), 0, 1);
    expect(run.of('abortGroup')[0]?.members).toEqual([{ worker: 1, incarnation: 1 }]);
    expect(run.of('log')[0]).toMatchObject({ kind: 'stalled', worker: 1 });
    expect(run.types()).toContain('groupClosed');
    expect(run.view(1).state).toBe('suspect');
    run.ready(2);
    expect(run.formed()).toEqual([
      [0, 1],
      [0, 2],
    ]);
    run.aborted(1);
    expect(run.view(1).state).toBe('queued');
  });

  it('is not taken back for a heartbeat, and dead when it never answers', () => {
    const run = stalled(groupOfTwo(), 0, 1).say('resumed', 1);
    expect(run.view(1).state).toBe('suspect');
    expect(run.deadlineMs).toBe(run.nowMs - 1 + LIVENESS_MS);
    tick(run, LIVENESS_MS);
    expect(run.of('dead')[0]).toMatchObject({ worker: 1 });
  });

  it('is not taken back for an answer that was under way when its connection closed', () => {
    const run = stalled(groupOfTwo(), 0, 1).suspected(1).aborted(1);
    expect(run.view(1).state).toBe('suspect');
    expect(run.say('resumed', 1).view(1).state).toBe('grouped');
  });

  it('goes to the end of the queue, its accuser to the front', () => {
    const run = startedRun(3, noConnectivity({ groupSize: 3 }))
      .ready(0)
      .ready(1)
      .ready(2);
    stalled(run, 0, 1).aborted(1).aborted(2);
    expect(run.formed()).toEqual([
      [0, 1, 2],
      [0, 2, 1],
    ]);
  });

  it('is dead after three groups running, and its accuser goes on', () => {
    const run = startedRun(2).ready(0).ready(1);
    for (let group = 0; group < 2; group += 1) {
      // Alone for the moment, worker 0 takes a step.
      stalled(run, 0, 1).aborted(1).ready(0);
      expect(run.formed().at(-1)).toEqual([1, 0]);
    }
    stalled(run, 0, 1);
    expect(run.of('dead')[0]).toMatchObject({ worker: 1, reason: 'it moved no data in 3 groups running' });
    expect(run.of('release')[0]).toMatchObject({ worker: 0 });
  });

  it('is innocent where it moves data with others: then its accuser is given up', () => {
    const run = startedRun(4, noConnectivity()).ready(0).ready(1).ready(2);
    stalled(run, 0, 1).aborted(1).ready(3).done(1, 3);
    stalled(run, 0, 2).aborted(2);
    expect(run.formed()).toEqual([
      [0, 1],
      [0, 2],
      [1, 3],
      [0, 2],
    ]);
    stalled(run, 0, 2);
    expect(run.of('dead')[0]).toMatchObject({ worker: 0, reason: 'nobody moved data with it in 3 groups running' });
    expect(run.view(2).state).toBe('suspect');
  });

  it('has its count forgotten with a group that ends well', () => {
    const run = startedRun(2).ready(0).ready(1);
    for (let round = 0; round < 4; round += 1) {
      for (let group = 0; group < 2; group += 1) stalled(run, 0, 1).aborted(1).ready(0);
      run.done(0, 1).ready(0).ready(1);
    }
    expect(run.run.workers.map(({ state }) => state)).toEqual(['grouped', 'grouped']);
  });

  it('is accused in vain by who comes too late, or names nobody of the group', () => {
    const run = groupOfTwo().aborted(1);
    stalled(run, 0, 1);
    expect(run.of('log')).toEqual([]);
    const other = stalled(groupOfTwo(), 0, 2);
    expect(other.of('log')).toEqual([]);
    expect(other.view(2).state).toBe('computing');
  });
});

describe('a member that does not answer when its group is given up', () => {
  it('is dead after the liveness time-out', () => {
    const run = startedRun(3, noConnectivity({ groupSize: 3, livenessMs: LIVENESS_MS }))
      .ready(0)
      .ready(1)
      .ready(2);
    run.aborted(0).aborted(1);
    expect(run.deadlineMs).toBe(run.nowMs - 1 + LIVENESS_MS);
    tick(run, LIVENESS_MS - 2);
    expect(run.of('dead')).toEqual([]);
    tick(run, 1);
    expect(run.of('dead')[0]).toMatchObject({ worker: 2, reason: expect.stringContaining('it said nothing') });
    expect(run.formed().at(-1)).toEqual([0, 1]);
  });
});
