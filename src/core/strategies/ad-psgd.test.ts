import { describe, expect, it } from 'vitest';
import { createRandom } from '../../base/random.js';
import { ScriptedRun, startedRun } from '../../../test/scenarios/scripted-run.js';

function adPsgd(workers: number, seed = 1): ScriptedRun {
  return startedRun(workers, { strategy: 'ad-psgd', seed });
}

describe('AD-PSGD', () => {
  it('groups an even worker with an odd one that computes on', () => {
    const run = adPsgd(2).ready(0);
    expect(run.formed()).toEqual([[0, 1]]);
    expect(run.groups[0]?.members.map(({ weight }) => weight)).toEqual([0.5, 0.5]);
    expect([run.view(0).state, run.view(1).state]).toEqual(['grouped', 'computing']);
    expect(run.done(0, 1).view(0)).toMatchObject({ state: 'computing', k: 1 });
    expect(run.view(1)).toMatchObject({ state: 'computing', k: 1, localSteps: 0 });
  });

  it('lets odd workers report steps without waiting, in a group or not', () => {
    const run = adPsgd(2).ready(1).ready(1);
    expect(run.view(1)).toMatchObject({ state: 'computing', k: 2, localSteps: 2 });
    run.ready(0).ready(1, 3);
    expect(run.done(0, 1).view(1)).toMatchObject({ state: 'computing', k: 3 });
    expect(run.view(0)).toMatchObject({ state: 'computing', k: 2 });
  });

  it('has an even worker wait while every odd one is in a group', () => {
    const run = adPsgd(3).ready(0).ready(2);
    expect(run.formed()).toEqual([[0, 1]]);
    expect(run.view(2).waitReason).toMatch(/^waiting for a worker of an odd number without a group/);
    expect(run.done(0, 1).formed()).toEqual([
      [0, 1],
      [2, 1],
    ]);
  });

  it('draws the odd worker, differently in each group and by the seed', () => {
    const partners = (seed: number): number[] => {
      const run = adPsgd(8, seed);
      for (let round = 0; round < 12; round += 1) {
        run.ready(0);
        run.done(0, run.lastGroupOf(0).members[1]?.worker ?? -1);
      }
      return run.formed().map((group) => group[1] as number);
    };
    expect(new Set(partners(1))).toEqual(new Set([1, 3, 5, 7]));
    expect(partners(1)).toEqual(partners(1));
    expect(partners(1)).not.toEqual(partners(2));
  });

  it.each([
    ['no odd worker is left', (run: ScriptedRun) => run.lost(1)],
    ['the run drains', (run: ScriptedRun) => run.step({ type: 'stop', reason: 'enough' })],
  ])('has an even worker go on alone when %s', (_, happens) => {
    const run = happens(adPsgd(2)).ready(0);
    expect(run.of('release')).toMatchObject([{ worker: 0, k: 1 }]);
  });

  it.each([
    ['odd', 1, 0],
    ['even', 0, 1],
  ])('goes on after the death of the %s worker of a group', (_, dead, survivor) => {
    const run = adPsgd(4).ready(1).ready(3).ready(0);
    const [, odd] = run.lastGroupOf(0).members.map(({ worker }) => worker as number);
    const victim = dead === 1 ? (odd as number) : 0;
    const left = survivor === 0 ? 0 : (odd as number);
    run.lost(victim);
    expect(run.of('abortGroup')).toMatchObject([{ members: [{ worker: left }] }]);
    run.aborted(left);
    // The even one finds another partner, the odd one never waited.
    const partners = run.lastGroupOf(left).members.map(({ worker }) => worker as number);
    expect(partners).toEqual(left === 0 ? [0, 4 - (odd as number)] : [0, left]);
    expect(run.view(left).state).toBe(left === 0 ? 'grouped' : 'computing');
  });

  it('has who is not finite meet somebody who is, and keep nobody waiting for that', () => {
    const run = adPsgd(5).ready(1, 1, false).ready(3, 1, false).ready(0, 1, false);
    expect(run.formed()).toEqual([]);
    run.ready(2);
    const [, odd] = run.lastGroupOf(2).members.map(({ worker }) => worker as number);
    expect(run.lastGroupOf(2).members.map(({ weight }) => weight)).toEqual([1, 0]);
    run.done(2, odd as number);
    expect(run.formed()).toEqual([
      [2, odd],
      [0, odd],
    ]);
    expect(run.lastGroupOf(0).members.map(({ weight }) => weight)).toEqual([0, 1]);
  });

  it('ends where nobody is finite any more', () => {
    const run = adPsgd(2).ready(1, 1, false).ready(0, 1, false);
    expect(run.of('finish')).toMatchObject([{ reason: expect.stringContaining('no live replica is finite') }, {}]);
    const alone = adPsgd(2).lost(1).ready(0, 1, false);
    expect(alone.of('finish')).toMatchObject([{ reason: expect.stringContaining('no live replica is finite') }]);
  });

  it('ends with a final average of all', () => {
    const run = adPsgd(2).ready(0).done(0, 1).step({ type: 'stop', reason: 'enough' });
    run.say('finished', 0).say('finished', 1);
    expect(run.groups.at(-1)?.kind).toBe('final');
    expect(run.done(0, 1).of('runEnded')).toMatchObject([{ holders: [0, 1] }]);
  });

  it('computes what plain arithmetic does on a fixed order of arrivals', () => {
    // Worker 1 computes at x = 4 while an average moves it: its gradient applies to what the average left.
    const [rate, target] = [0.25, 2];
    const run = adPsgd(2);
    const x = [8, 4];
    const seen = [8, 4];
    const take = (worker: number): void => {
      x[worker] = (x[worker] as number) - rate * ((seen[worker] as number) - target);
      run.ready(worker);
      if (worker === 0) {
        const mean = run
          .lastGroupOf(0)
          .members.reduce((sum, each) => sum + each.weight * (x[each.worker] as number), 0);
        x.fill(mean);
        run.done(0, 1);
        seen[0] = mean;
      } else seen[1] = x[1] as number;
    };
    take(0);
    expect(x).toEqual([5.25, 5.25]);
    take(1);
    expect(x).toEqual([5.25, 5.25 - 0.25 * (4 - 2)]);
    take(0);
    expect(x[0]).toBe((5.25 - 0.25 * 3.25 + 4.75) / 2);
  });

  it('finds the optimum of a noisy quadratic with one worker four times slower', () => {
    const noise = createRandom(3);
    const periods = [1, 1, 1, 4];
    const run = adPsgd(4);
    const x = [9, 9, 9, 9];
    const seen = [...x];
    for (let tick = 1; tick <= 400; tick += 1) {
      for (const [worker, period] of periods.entries()) {
        if (tick % period !== 0) continue;
        x[worker] = (x[worker] as number) - 0.05 * ((seen[worker] as number) - 2 + noise.normal());
        run.ready(worker);
        if (worker % 2 === 0) {
          const members = run.lastGroupOf(worker).members.map((member) => member.worker as number);
          const mean = members.reduce((sum, member) => sum + (x[member] as number) / members.length, 0);
          for (const member of members) x[member] = mean;
          run.done(...members);
        }
        seen.splice(worker, 1, ...x.slice(worker, worker + 1));
      }
    }
    for (const value of x) expect(Math.abs(value - 2)).toBeLessThan(0.5);
  });
});
