import { describe, expect, it } from 'vitest';
import { noConnectivity, ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import type { UntimedEvent } from './events.js';

describe('joining', () => {
  it('numbers workers in the order of their coming', () => {
    const run = new ScriptedRun();
    for (const worker of [0, 1, 2]) {
      run.join();
      expect(run.of('admit')).toEqual([{ type: 'admit', ticket: worker + 1, worker, incarnation: 1 }]);
    }
  });

  it('gives the number that is asked for, and never the number of a dead worker unasked', () => {
    const run = new ScriptedRun({ minWorkers: 3 }).join(2);
    expect(run.of('admit')[0]).toMatchObject({ worker: 2, incarnation: 1 });
    run.join().join();
    run.lost(0).join();
    expect(run.of('admit')[0]).toMatchObject({ worker: 3, incarnation: 1 });
    run.join(0);
    expect(run.of('admit')[0]).toMatchObject({ worker: 0, incarnation: 2 });
  });

  it('refuses the number of a worker that is alive', () => {
    const run = new ScriptedRun().join().join(0);
    expect(run.types()).toEqual(['refuse']);
    expect(run.of('refuse')[0]).toMatchObject({ ticket: 2, reason: expect.stringContaining('worker 0') });
  });

  it('takes the number of a suspect over, whose life is over then', () => {
    const run = startedRun(2).suspected(0).join(0);
    expect(run.of('dead')[0]).toMatchObject({ worker: 0, incarnation: 1 });
    expect(run.of('admit')[0]).toMatchObject({ worker: 0, incarnation: 2 });
    run.step({ type: 'resumed', ...run.life(0, 1) });
    expect(run.effects).toEqual([]);
  });

  it('takes nobody while the run ends, and after', () => {
    const run = startedRun(1).step({ type: 'stop', reason: 'Ctrl-C' }).join();
    expect(run.of('refuse')[0]?.reason).toContain('Ctrl-C');
    run.say('finished', 0).done(0);
    expect(run.of('runEnded')).toHaveLength(1);
    run.join();
    expect(run.of('refuse')[0]?.reason).toContain('the run is over');
  });
});

describe('the model of the run', () => {
  it('is the first worker’s; the others fetch it, from the least busy', () => {
    const run = new ScriptedRun({ minWorkers: 3 }).join();
    expect(run.of('seed')).toEqual([{ type: 'seed', worker: 0, incarnation: 1 }]);
    run.join();
    expect(run.types()).toEqual(['admit']);
    run.join().synced(0);
    expect(run.of('transfer').map(({ joiner, donor }) => [joiner.worker, donor.worker])).toEqual([
      [1, 0],
      [2, 0],
    ]);
    run.synced(1);
    run.join();
    // Worker 0 still serves worker 2
    expect(run.of('transfer')[0]).toMatchObject({ donor: { worker: 1 }, joiner: { worker: 3 } });
  });

  it('is the next one’s if the first dies before anybody has it', () => {
    const run = new ScriptedRun().join().join().lost(0);
    expect(run.of('seed')).toEqual([{ type: 'seed', worker: 1, incarnation: 1 }]);
  });

  it('is fetched from another donor when one fails', () => {
    const run = startedRun(2).join();
    expect(run.of('transfer')[0]?.donor.worker).toBe(0);
    run.step({ type: 'transferFailed', ...run.life(2), reason: 'cut' });
    expect(run.of('transfer')[0]?.donor.worker).toBe(1);
  });

  it('is not fetched for ever by a joiner that never gets it', () => {
    const run = startedRun(2).join();
    for (let failure = 0; failure < 10; failure += 1) {
      expect(run.of('dead')).toEqual([]);
      run.step({ type: 'transferFailed', ...run.life(2), reason: 'cut' });
    }
    expect(run.of('dead')[0]).toMatchObject({ worker: 2, reason: expect.stringContaining('cut') });
  });

  it('is not taken from a worker that is far behind', () => {
    const run = startedRun(3, noConnectivity());
    for (let round = 0; round < 6; round += 1) run.ready(1).ready(2).done(1, 2);
    run.join();
    expect(run.of('transfer')[0]?.donor.worker).toBe(1);
  });
});

describe('the start', () => {
  it('waits for as many workers as asked, all holding the model', () => {
    const run = new ScriptedRun({ minWorkers: 2 }).join().join().synced(0);
    expect(run.of('start')).toEqual([]);
    expect(run.view(0).waitReason).toBe('waiting for 2 workers');
    run.synced(1);
    expect(run.of('start').map(({ worker }) => worker)).toEqual([0, 1]);
  });

  it('is at once for a joiner that comes later; groups count on it from its first READY', () => {
    const run = startedRun(2, { groupSize: 3 }).join().synced(2);
    expect(run.of('start')).toEqual([{ type: 'start', worker: 2, incarnation: 1 }]);
    run.ready(0).ready(1);
    expect(run.formed()).toEqual([[0, 1]]);
    run.done(0, 1).ready(2).ready(0);
    expect(run.formed()).toHaveLength(1);
    run.ready(1);
    expect(run.formed()[1]).toEqual([2, 0, 1]);
  });
});

describe('fencing', () => {
  it('ignores whatever a former life still sends', () => {
    const run = startedRun(3).lost(0).join(0).synced(0);
    const old = run.life(0, 1);
    const late: readonly UntimedEvent[] = [
      { type: 'ready', ...old, k: 1, samples: 10, finite: true },
      { type: 'ready', ...old, k: 99, samples: 10, finite: true },
      { type: 'finished', ...old },
      { type: 'leaving', ...old },
      { type: 'suspected', ...old, reason: 'late' },
      { type: 'lost', ...old, reason: 'late' },
      { type: 'synced', ...old, k: 4 },
    ];
    const before = run.run;
    for (const event of late) expect(run.step(event).effects).toEqual([]);
    expect(run.run).toEqual(before);
    run.ready(0);
    expect(run.run.queue).toEqual([0]);
  });

  it('ignores workers that never were', () => {
    expect(startedRun(2).step({ type: 'lost', ...new ScriptedRun().life(7), reason: 'x' }).effects).toEqual([]);
  });

  it('does not take the new life for the member of the old one’s group', () => {
    const run = startedRun(3, noConnectivity()).ready(0).ready(1).lost(0).join(0);
    expect(run.of('groupClosed')).toEqual([]);
    run.aborted(1);
    expect(run.of('groupClosed')[0]).toMatchObject({ aborted: true, committed: [] });
  });
});

describe('suspects', () => {
  it('in the queue are passed over, and taken when they resume', () => {
    const run = startedRun(3, noConnectivity()).ready(0).suspected(0).ready(1).ready(2);
    expect(run.formed()).toEqual([[1, 2]]);
    run.done(1, 2).say('resumed', 0).ready(1);
    expect(run.formed()[1]).toEqual([0, 1]);
  });

  it('in a group abort it at once, for all that have not reported', () => {
    const run = startedRun(3, { groupSize: 3 }).ready(0).ready(1).ready(2).done(0).suspected(1);
    expect(run.of('abortGroup')[0]?.members.map(({ worker }) => worker)).toEqual([1, 2]);
    expect(run.of('groupClosed')).toEqual([]);
    run.aborted(2);
    // Nobody waits for the suspect
    expect(run.of('groupClosed')[0]).toMatchObject({ committed: [0], aborted: true });
  });

  it('that are done already abort their open group for the rest all the same', () => {
    const run = startedRun(3, { groupSize: 3 }).ready(0).ready(1).ready(2).done(0).suspected(0);
    expect(run.of('abortGroup')[0]?.members.map(({ worker }) => worker)).toEqual([1, 2]);
    run.done(1).aborted(2);
    expect(run.of('groupClosed')[0]).toMatchObject({ committed: [0, 1], aborted: true });
    expect(run.view(0)).toMatchObject({ state: 'suspect', k: 1 });
  });

  it('keep their replica, k and place when they resume in time', () => {
    const run = startedRun(2, { livenessMs: 100 }).ready(0).ready(1).suspected(0).aborted(1);
    const deadline = run.deadlineMs;
    expect(deadline).toBe(run.nowMs - 1 + 100);
    // Alone meanwhile: worker 1 goes on by itself
    expect(run.of('release')).toHaveLength(1);
    run.say('resumed', 0).aborted(0);
    expect(run.view(0)).toMatchObject({ state: 'queued', k: 0 });
    run.ready(1);
    expect(run.lastGroupOf(0).members.map(({ worker, k }) => [worker, k])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    run.step({ type: 'tick' }, 1000);
    expect(run.of('dead')).toEqual([]);
  });

  it('are dead once the liveness time-out is over, not before', () => {
    const run = startedRun(3, { livenessMs: 100 }).suspected(0);
    const dueMs = run.deadlineMs ?? Number.NaN;
    run.step({ type: 'tick' }, dueMs - run.nowMs - 1);
    expect(run.effects).toEqual([]);
    run.step({ type: 'tick' });
    expect(run.of('dead')[0]).toMatchObject({ worker: 0, reason: expect.stringContaining('100 ms') });
    expect(run.deadlineMs).toBeNull();
  });

  it('keep the time of the first suspicion', () => {
    const run = startedRun(2).suspected(0);
    const { deadlineMs } = run;
    expect(run.suspected(0).deadlineMs).toBe(deadlineMs);
  });
});

describe('leaving', () => {
  it('takes effect at once outside of groups', () => {
    const run = startedRun(3).say('leaving', 0);
    expect(run.of('left')).toEqual([{ type: 'left', worker: 0, incarnation: 1 }]);
    run.ready(1).say('leaving', 1);
    expect(run.of('left')).toHaveLength(1);
    expect(run.run.queue).toEqual([]);
  });

  it('waits for the end of the group, and of all in it', () => {
    const run = startedRun(3, noConnectivity()).ready(0).ready(1).say('leaving', 0);
    expect(run.effects).toEqual([]);
    run.done(0);
    expect(run.of('left')).toEqual([]);
    run.done(1);
    expect(run.types()).toEqual(['groupClosed', 'left']);
  });

  it('is not held up by an abort', () => {
    const run = startedRun(3, noConnectivity()).ready(0).ready(1).say('leaving', 0).lost(1).aborted(0);
    expect(run.of('left')).toHaveLength(1);
  });

  it('of everybody ends the run, with nobody to hold the model', () => {
    const run = startedRun(2).say('leaving', 0).say('leaving', 1);
    expect(run.of('runEnded')[0]).toMatchObject({ holders: [], reason: expect.stringContaining('left') });
  });
});
