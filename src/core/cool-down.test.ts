import { describe, expect, it } from 'vitest';
import { ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import { workerId } from '../base/ids.js';
import { coolDownMs } from './cool-down.js';

const LIVENESS_MS = 1000;

/** A run of three in which worker 2 comes and dies; each life is short. */
function run(): ScriptedRun {
  return startedRun(3, { livenessMs: LIVENESS_MS });
}

function flap(of: ScriptedRun, times: number): ScriptedRun {
  for (let i = 0; i < times; i += 1) of.lost(2).join(2);
  return of;
}

function tick(of: ScriptedRun, afterMs: number): ScriptedRun {
  return of.step({ type: 'tick' }, afterMs);
}

describe('the cool-down', () => {
  it('is none at first, doubles, and is capped', () => {
    const lengths = [0, 1, 2, 3, 4, 5, 8, 9, 100].map((count) => coolDownMs(count, LIVENESS_MS) / LIVENESS_MS);
    expect(lengths).toEqual([0, 0, 0, 1, 2, 4, 32, 32, 32]);
  });

  it('lets a worker back at once after its first two deaths, and later after the third', () => {
    const of = flap(run(), 2);
    expect(of.of('admit')[0]).toMatchObject({ worker: 2, incarnation: 3 });
    flap(of, 1);
    expect(of.types()).toEqual(['log']);
    expect(of.of('log')[0]).toMatchObject({
      kind: 'cool-down',
      worker: 2,
      message: 'worker 2 died 3 times soon after joining: it may join again in 1.0 s',
    });
    // It died 1 ms before it came back.
    expect(of.deadlineMs).toBe(of.nowMs - 1 + LIVENESS_MS);
    tick(of, LIVENESS_MS - 2);
    expect(of.of('admit')).toEqual([]);
    tick(of, 1);
    expect(of.of('admit')).toEqual([{ type: 'admit', ticket: 6, worker: 2, incarnation: 4 }]);
    expect(of.deadlineMs).toBe(null);
  });

  it('is forgotten after a life that was long enough', () => {
    const of = flap(run(), 2);
    tick(of, 10 * LIVENESS_MS);
    flap(of, 2);
    expect(of.of('admit')[0]).toMatchObject({ worker: 2, incarnation: 5 });
  });

  it('is forgotten when nobody comes for long', () => {
    const of = flap(run(), 2).lost(2);
    tick(of, 11 * LIVENESS_MS).join(2);
    expect(of.types()).toContain('admit');
    of.lost(2).join(2);
    expect(of.types()).toContain('admit');
  });

  it('does not concern who leaves, nor other numbers', () => {
    const of = run();
    for (let i = 0; i < 4; i += 1) {
      of.say('leaving', 2).join(2);
      expect(of.types()).toContain('admit');
      of.synced(2);
    }
    flap(of, 3).join(7);
    expect(of.of('admit')[0]).toMatchObject({ worker: 7 });
  });

  it('waits with the worker, not with a connection that is gone', () => {
    const of = flap(run(), 3);
    of.step({ type: 'joinWithdrawn', ticket: 6 });
    expect(of.deadlineMs).toBe(null);
    of.join(2);
    expect(of.of('log')[0]).toMatchObject({ kind: 'cool-down' });
    tick(of, LIVENESS_MS);
    expect(of.of('admit')).toEqual([{ type: 'admit', ticket: 7, worker: 2, incarnation: 4 }]);
  });

  it('is refused when the run ends meanwhile', () => {
    const of = flap(run(), 3).step({ type: 'stop', reason: 'Ctrl-C' });
    expect(of.of('refuse')).toEqual([{ type: 'refuse', ticket: 6, reason: 'the run is ending: Ctrl-C' }]);
  });

  it('is refused at once when another event ends the run', () => {
    const of = flap(startedRun(3, { livenessMs: LIVENESS_MS, maxLocalSteps: 1 }), 3).ready(0);
    expect(of.of('refuse')).toMatchObject([{ ticket: 6 }]);
  });

  it('knows unnumbered workers by their machine, each death having one follower', () => {
    const of = new ScriptedRun({ livenessMs: LIVENESS_MS, minWorkers: 1 });
    let ticket = 0;
    const join = (hostname: string): readonly number[] => {
      ticket += 1;
      of.step({ type: 'joined', ticket, requested: null, hostname });
      return of.of('admit').map(({ worker }) => worker);
    };
    const die = (worker: number) =>
      of.step({ type: 'lost', worker: workerId(worker), incarnation: 1, reason: 'killed' });
    const first = Array.from({ length: 5 }, () => join('rack'));
    expect(first.flat()).toEqual([0, 1, 2, 3, 4]);
    // All at once, as a machine that starts anew: they come back at once, twice.
    for (const start of [0, 5]) {
      for (let i = 0; i < 5; i += 1) die(start + i);
      for (let i = 0; i < 5; i += 1) expect(join('rack')).toEqual([start + 5 + i]);
    }
    die(10);
    expect(join('elsewhere')).toEqual([15]);
    expect(join('rack')).toEqual([]);
    expect(join('rack')).toEqual([16]);
  });
});
