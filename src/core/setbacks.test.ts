import { describe, expect, it } from 'vitest';
import { noConnectivity, type ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import { restMs } from './setbacks.js';

const LIVENESS_MS = 6400;

function tick(run: ScriptedRun, afterMs: number): ScriptedRun {
  return run.step({ type: 'tick' }, afterMs);
}

/** Workers 0 and 1 are in their `times`-th group, the ones before it aborted. */
function failing(times: number, core: Parameters<typeof noConnectivity>[0] = {}): ScriptedRun {
  const run = startedRun(3, noConnectivity({ livenessMs: LIVENESS_MS, ...core }))
    .ready(0)
    .ready(1);
  for (let i = 1; i < times; i += 1) run.aborted(0).aborted(1);
  return run;
}

describe('restMs', () => {
  it.each([
    [1, 0],
    [2, 0],
    [3, 100],
    [4, 200],
    [5, 400],
    [9, 6400],
    [10, 6400],
    [5000, 6400],
  ])('after %i aborted groups running is %i ms', (setbacks, expected) => {
    expect(restMs(setbacks, LIVENESS_MS)).toBe(expected);
  });
});

describe('members whose groups fail again and again', () => {
  it('are grouped again at once twice', () => {
    const run = failing(3);
    expect(run.formed()).toEqual([
      [0, 1],
      [0, 1],
      [0, 1],
    ]);
    expect(run.of('log')).toEqual([]);
  });

  it('rest after the third, and are grouped when they have rested', () => {
    const run = failing(3).aborted(0).aborted(1);
    expect(run.formed()).toHaveLength(3);
    expect(run.of('log').at(-1)).toMatchObject({
      kind: 'setback',
      worker: 1,
      message: expect.stringMatching(/^worker 1 rests for 100 ms: its last 3 groups failed, this one with ".+"$/),
    });
    expect(run.deadlineMs).toBeLessThanOrEqual(run.nowMs + 100);
    tick(run, 100);
    expect(run.formed()).toHaveLength(4);
  });

  it('do not keep others apart: who has a group that works starts anew, the other rests longer', () => {
    const run = failing(3).aborted(0).aborted(1);
    // Nobody waits for those that rest.
    expect(run.ready(2).of('release')[0]).toMatchObject({ worker: 2 });
    // The rest of 0 began 1 ms before that of 1.
    tick(run, 97.5);
    expect(run.ready(2).formed().at(-1)).toEqual([0, 2]);
    run.done(0, 2);
    expect(run.ready(0).formed().at(-1)).toEqual([1, 0]);
    // The first setback of 0, and the fourth of 1.
    run.aborted(0).aborted(1);
    expect(run.of('log').at(-1)?.message).toContain('worker 1 rests for 200 ms: its last 4 groups failed');
    expect(run.view(1)).toMatchObject({ state: 'queued', waitReason: 'resting, as its last 4 groups failed' });
    expect(run.ready(2).formed().at(-1)).toEqual([0, 2]);
  });

  it('of a strategy that waits for all rest together', () => {
    const run = startedRun(2, { strategy: 'all-reduce', livenessMs: LIVENESS_MS }).ready(0).ready(1);
    for (let i = 0; i < 3; i += 1) run.aborted(0).aborted(1);
    expect(run.formed()).toHaveLength(3);
    tick(run, 100);
    expect(run.formed()).toHaveLength(4);
  });

  it('are forgotten when they die', () => {
    const run = failing(3).aborted(0).aborted(1).lost(0);
    tick(run, 100);
    expect(run.formed()).toHaveLength(3);
    expect(run.view(1).state).not.toBe('dead');
  });
});
