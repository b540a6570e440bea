import { describe, expect, it } from 'vitest';
import { noConnectivity, type ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import type { CoreConfig } from './config.js';

const plain = noConnectivity();

/** READY with a replica that is not finite. */
function sick(run: ScriptedRun, ...workers: number[]): ScriptedRun {
  for (const worker of workers) run.ready(worker, run.view(worker).k + 1, false);
  return run;
}

/** Four workers; 0 and 1 are READY and not finite. */
function sickPair(overrides: Partial<CoreConfig> = {}): ScriptedRun {
  return sick(startedRun(4, { ...plain, ...overrides }), 0, 1);
}

function weightsOf(run: ScriptedRun, worker: number): readonly number[] {
  return run.lastGroupOf(worker).members.map(({ weight }) => weight);
}

describe('replicas that are not finite', () => {
  it('are not averaged with each other, but wait for one that is, and say so', () => {
    const run = sickPair();
    expect(run.formed()).toEqual([]);
    expect(run.view(0).waitReason).toMatch(/^waiting for a worker whose values are finite: worker [23] computing/);
    run.ready(2);
    expect(run.formed()).toEqual([[0, 2]]);
    expect(weightsOf(run, 2)).toEqual([0, 1]);
    expect(run.lastGroupOf(2).finite).toBe(true);
  });

  it('are sound again with the average, and serve the others', () => {
    const run = sickPair().ready(2).done(0, 2).ready(0);
    expect(run.formed()[1]).toEqual([1, 0]);
    expect(weightsOf(run, 1)).toEqual([0, 1]);
  });

  it('have one of the finite ones in their group where connectivity decides', () => {
    const run = startedRun(4, { connectivityGroups: 3 }).ready(0).ready(1).done(0, 1);
    // Only groups across {0, 1}, {2} and {3} are let through.
    sick(run, 0, 2).ready(1);
    expect(run.formed()[1]).toEqual([2, 1]);
  });

  it('do not go together when a hold expires', () => {
    const run = startedRun(4, { connectivityGroups: 3, groupSize: 2, holdTimeoutMs: 100 }).ready(0).ready(1).done(0, 1);
    sick(run, 0);
    run.ready(1);
    expect(run.formed()).toHaveLength(1);
    run.step({ type: 'tick' }, 100);
    expect(run.formed()[1]).toEqual([0, 1]);
  });

  it('wait for a suspect too: it may come back', () => {
    const run = sick(startedRun(2, { ...plain, livenessMs: 50 }).suspected(1), 0);
    expect(run.types()).toEqual([]);
    run.step({ type: 'tick' }, 50);
    expect(run.of('finish')[0]?.reason).toContain('no live replica is finite');
  });

  it('are no donors', () => {
    const run = sick(startedRun(3, plain), 0, 1).join();
    expect(run.of('transfer').map(({ donor }) => donor.worker)).toEqual([2]);
  });

  it('are left out of evaluations', () => {
    const run = sick(startedRun(3, { ...plain, evaluateEverySamples: 20 }), 0, 1);
    expect(run.of('evaluate')[0]?.workers).toEqual([2]);
  });

  it('are left out of the final average', () => {
    const run = sick(startedRun(2, plain).step({ type: 'stop', reason: 'enough' }), 0);
    expect(run.of('release').map(({ worker }) => worker)).toEqual([0]);
    run.say('finished', 0).say('finished', 1);
    expect(weightsOf(run, 0)).toEqual([0, 1]);
    run.done(0, 1);
    expect(run.of('runEnded')[0]).toMatchObject({ reason: 'enough', holders: [0, 1] });
  });
});

describe('where no finite replica can come any more', () => {
  it('the run ends with the reason, and nobody is said to hold a model', () => {
    const run = sick(startedRun(2, plain), 0, 1);
    expect(run.of('finish').map(({ reason }) => reason)).toEqual(
      Array(2).fill('no live replica is finite: the training has diverged; a lower learning rate may help'),
    );
    expect(run.of('release')).toHaveLength(2);
    run.say('finished', 0).say('finished', 1);
    expect(run.formed()).toEqual([]);
    expect(run.of('runEnded')[0]).toMatchObject({ holders: [], reason: expect.stringMatching(/^no live replica/) });
  });

  it('a single worker ends its run', () => {
    const run = sick(startedRun(1, plain), 0);
    expect(run.of('finish')).toHaveLength(1);
  });

  it('a run that was ending anyway says both', () => {
    const run = sick(startedRun(2, plain).step({ type: 'stop', reason: 'enough' }), 0, 1);
    run.say('finished', 0).say('finished', 1);
    expect(run.of('runEnded')[0]).toMatchObject({ holders: [], reason: 'enough, but no live replica is finite' });
  });

  it('but a worker rests with one, the others must start anew: their work goes to the one that rests', () => {
    const ledger = { sampleCount: 30, batchSamples: 10, leaseBatches: 2, epochs: 1 } as const;
    const run = startedRun(2, { ...plain, ledger })
      .requestLease(0)
      .requestLease(1);
    run.ready(0).ready(1).done(0, 1).requestLease(1, 1);
    expect(run.view(1).state).toBe('idle');
    sick(run, 0);
    expect(run.of('dead')[0]).toMatchObject({ worker: 0, reason: expect.stringContaining('not finite') });
    expect(run.of('lease')[0]).toMatchObject({ worker: 1, lease: { id: 0 } });
    expect(run.run.finishReason).toBeNull();
    // A new life of the worker gets the model from the one that has it.
    run.join(0);
    expect(run.of('transfer')[0]).toMatchObject({ joiner: { worker: 0, incarnation: 2 }, donor: { worker: 1 } });
  });

  it('and who has finished with a finite one gives the final average', () => {
    const run = sick(startedRun(3, plain).say('finished', 2), 0, 1);
    expect(run.of('dead').map(({ worker }) => worker)).toEqual([0, 1]);
    expect(run.lastGroupOf(2)).toMatchObject({ kind: 'final', finite: true });
  });
});

describe('gradients that are not finite', () => {
  const allReduce = { strategy: 'all-reduce' } as const;

  it('leave the replicas as they are: a round without any goes by', () => {
    const run = sick(startedRun(2, allReduce), 0, 1);
    expect(run.lastGroupOf(0)).toMatchObject({ kind: 'step', finite: false });
    run.done(0, 1).ready(0).ready(1).done(0, 1).say('finished', 0).say('finished', 1);
    expect(run.lastGroupOf(0)).toMatchObject({ kind: 'final', finite: true });
  });

  it('end the run after ten such rounds running, with the model that there is', () => {
    const run = startedRun(2, allReduce);
    for (let round = 0; round < 9; round += 1) sick(run, 0, 1).done(0, 1);
    run.ready(0);
    sick(run, 1).done(0, 1);
    for (let round = 0; round < 10; round += 1) {
      expect(run.run.finishReason).toBeNull();
      sick(run, 0, 1).done(0, 1);
    }
    expect(run.run.finishReason).toContain('no gradient was finite in 10 rounds running');
    run.say('finished', 0).say('finished', 1).done(0, 1);
    expect(run.of('runEnded')[0]?.holders).toEqual([0, 1]);
  });
});
