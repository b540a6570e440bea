import { describe, expect, it } from 'vitest';
import { splitGroupId } from '../base/ids.js';
import { noConnectivity, ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import type { LedgerConfig } from './config.js';

const LEDGER: LedgerConfig = { sampleCount: 60, batchSamples: 10, leaseBatches: 2, epochs: 1 };

const PERSISTS = noConnectivity({ persists: true, livenessMs: 1000 });

describe('what is written down', () => {
  it('comes before anything else is done', () => {
    const run = new ScriptedRun(PERSISTS).join();
    expect(run.types()).toEqual(['persist', 'admit', 'seed']);
    run.join().synced(0).synced(1);
    expect(run.types()[0]).toBe('persist');
    expect(run.facts).toMatchObject({ started: true, members: [{ worker: 0 }, { worker: 1 }] });
  });

  it('is nothing where nothing has changed that must outlive the controller', () => {
    const run = startedRun(2, PERSISTS).ready(0).ready(1).done(0, 1);
    expect(run.of('persist')).toEqual([]);
    run.lost(0);
    expect(run.of('persist')).toHaveLength(1);
  });

  it('is nothing in a run that nobody goes on with', () => {
    expect(startedRun(2, noConnectivity()).facts).toBeNull();
  });
});

describe('a controller that is started again', () => {
  it('knows everybody, in a new term, and takes each back where it stands', () => {
    const run = startedRun(3, PERSISTS).ready(0).ready(1).restarted();
    expect(run.run).toMatchObject({ started: true, workers: [{ state: 'suspect' }, {}, {}] });
    run.returned(0, { k: 5, localSteps: 5, samples: 50 }).returned(1, { k: 2, localSteps: 2, samples: 20 });
    expect(run.run.progress).toEqual({ samples: 70, localSteps: 7 });
    run.ready(0).ready(1);
    expect(run.formed()).toEqual([[0, 1]]);
    expect(run.groups.map(({ id }) => splitGroupId(id).term)).toEqual([2]);
  });

  it('has another term each time', () => {
    const run = startedRun(2, PERSISTS).restarted().returned(0).restarted().returned(0).returned(1);
    run.ready(0).ready(1);
    expect(run.groups.map(({ id }) => splitGroupId(id).term)).toEqual([3]);
  });

  it('gives no number twice, those of the dead included', () => {
    const run = startedRun(2, PERSISTS).join().lost(2).restarted().join();
    expect(run.of('admit')).toMatchObject([{ worker: 3, incarnation: 1 }]);
    run.join(2);
    expect(run.of('admit')).toMatchObject([{ worker: 2, incarnation: 2 }]);
  });

  it('leaves the leases with those who come back, and gives those of the others away', () => {
    const before = startedRun(2, { ...PERSISTS, ledger: LEDGER })
      .requestLease(0)
      .requestLease(1);
    const run = before.restarted().returned(0, { lease: 0 });
    run.requestLease(0, 0);
    expect(run.of('lease')).toMatchObject([{ lease: { id: 2 } }]);
    run.requestLease(0, 2);
    expect(run.of('lease')).toEqual([]);
    expect(run.deadlineMs).toBe(7 + 6 * 1000);
    run.step({ type: 'tick' }, 6000);
    expect(run.of('dead')).toMatchObject([{ worker: 1, reason: expect.stringContaining('come back') }]);
    expect(run.of('lease')).toMatchObject([{ worker: 0, lease: { id: 1 } }]);
    run.requestLease(0, 1);
    expect(run.of('finish')).toHaveLength(1);
  });

  it('waits with rounds until all are back that were there', () => {
    const run = startedRun(2, { ...PERSISTS, strategy: 'all-reduce' })
      .restarted()
      .returned(0)
      .ready(0);
    expect(run.groups).toEqual([]);
    run.returned(1).ready(1);
    expect(run.formed()).toEqual([[0, 1]]);
  });

  it('waits with the final average until all are back', () => {
    const run = startedRun(2, PERSISTS).step({ type: 'stop', reason: 'enough' }).restarted();
    run.returned(0, { doing: 'finished' });
    expect(run.groups).toEqual([]);
    run.returned(1, { doing: 'finished' });
    expect(run.groups).toMatchObject([{ kind: 'final' }]);
  });

  it('starts the run that had not started when enough hold the model', () => {
    const run = new ScriptedRun(PERSISTS).join().synced(0).join().restarted();
    run.returned(0, { doing: 'waiting' });
    expect(run.of('start')).toEqual([]);
    run.returned(1, { doing: 'joining', k: null });
    expect(run.of('transfer')).toMatchObject([{ joiner: { worker: 1 }, donor: { worker: 0 } }]);
    run.synced(1);
    expect(run.of('start')).toHaveLength(2);
  });

  it('knows that the run is over', () => {
    const run = startedRun(1, PERSISTS).step({ type: 'stop', reason: 'enough' }).say('finished', 0).done(0).restarted();
    expect(run.join().of('refuse')).toMatchObject([{ reason: expect.stringContaining('over') }]);
  });
});
