import { describe, expect, it } from 'vitest';
import { noConnectivity, ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';

describe('a run that shall have three workers', () => {
  const start = () => startedRun(3, noConnectivity({ minLiveWorkers: 3 }));

  it('does not speak of a pause before it has started', () => {
    expect(new ScriptedRun({ minWorkers: 3, minLiveWorkers: 3 }).join().synced(0).of('log')).toEqual([]);
  });

  it('waits when one is gone, says so, and goes on when another has joined', () => {
    const run = start().lost(2);
    expect(run.of('log')).toEqual([
      {
        type: 'log',
        kind: 'paused',
        worker: null,
        message: 'paused: 2 of at least 3 workers are left, waiting for more to join',
      },
    ]);
    run.ready(0).ready(1);
    expect(run.groups).toEqual([]);
    expect(run.of('log')).toEqual([]);
    expect(run.view(0).waitReason).toBe('waiting for 3 workers to be there');
    run.join();
    expect(run.of('transfer')).toHaveLength(1);
    run.synced(3, 1);
    expect(run.of('log')[0]).toMatchObject({ kind: 'paused', message: 'going on with 3 workers' });
    expect(run.formed()).toEqual([[0, 1]]);
  });

  it('lets nobody go on alone, be it the last one', () => {
    const run = start().lost(2).lost(1).ready(0);
    expect(run.types()).toEqual([]);
    expect(run.view(0).state).toBe('queued');
  });

  it('waits for a suspect, and goes on with it', () => {
    const run = start().suspected(2).ready(0).ready(1);
    expect(run.groups).toEqual([]);
    run.say('resumed', 2);
    expect(run.formed()).toEqual([[0, 1]]);
  });

  it('counts those who rest for the end', () => {
    const run = start().say('finished', 2).ready(0).ready(1);
    expect(run.formed()).toEqual([[0, 1]]);
  });

  it('ends when it is told to, with whoever is there', () => {
    const run = start().lost(2).lost(1).ready(0);
    run.step({ type: 'stop', reason: 'Ctrl-C' });
    expect(run.of('release')).toHaveLength(1);
    run.say('finished', 0).done(0);
    expect(run.of('runEnded')[0]?.holders).toEqual([0]);
  });

  it('ends when nobody is left to hand over the model', () => {
    const run = start().lost(2).lost(1).lost(0);
    expect(run.of('runEnded')).toHaveLength(1);
  });
});
