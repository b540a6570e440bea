import { describe, expect, it } from 'vitest';
import { createRandom } from '../../base/random.js';
import type { EagerRule } from '../config.js';
import { ScriptedRun, startedRun } from '../../../test/scenarios/scripted-run.js';

function eagerReduce(workers: number, eager: EagerRule = 'solo', seed = 1): ScriptedRun {
  return startedRun(workers, { strategy: 'eager-reduce', eager, seed });
}

describe('eager-reduce, solo', () => {
  it('begins a round with the first READY, and has everybody in it', () => {
    const run = eagerReduce(3).ready(1);
    expect(run.formed()).toEqual([[1, 0, 2]]);
    expect(run.groups[0]?.members.map(({ weight }) => weight)).toEqual([1 / 3, 1 / 3, 1 / 3]);
    run.done(0, 1, 2);
    expect([0, 1, 2].map((worker) => run.view(worker))).toMatchObject([
      { state: 'computing', k: 1, localSteps: 0 },
      { state: 'computing', k: 1, localSteps: 1 },
      { state: 'computing', k: 1, localSteps: 0 },
    ]);
  });

  it('does not have a worker wait that rounds have gone by', () => {
    const run = eagerReduce(2).ready(0).done(0, 1).ready(0).done(0, 1);
    run.ready(1, 1);
    expect(run.groups).toHaveLength(2);
    expect(run.view(1)).toMatchObject({ state: 'computing', localSteps: 1, k: 2 });
    expect(run.ready(1, 3).groups).toHaveLength(3);
  });

  it('lets a READY that comes during a round be answered by it', () => {
    const run = eagerReduce(3).ready(0).ready(1, 1);
    expect(run.view(1).state).toBe('queued');
    expect(run.done(0, 1, 2).view(1)).toMatchObject({ state: 'computing', k: 1 });
    expect(run.groups).toHaveLength(1);
  });

  it('goes on after a death within a round, with the gradients of the others', () => {
    const run = eagerReduce(3).ready(0).ready(1, 1).lost(2);
    run.aborted(1);
    expect(run.groups).toHaveLength(1);
    expect(run.aborted(0).formed().at(-1)).toEqual([0, 1]);
    expect(run.done(0, 1).view(1)).toMatchObject({ state: 'computing', k: 1 });
  });

  it('takes no round from those who rest or wait for work', () => {
    const run = eagerReduce(3).say('finished', 2).ready(0);
    expect(run.formed()).toEqual([[0, 1, 2]]);
    expect(run.done(0, 1, 2).view(2)).toMatchObject({ state: 'finished', k: 1 });
  });

  it('goes through rounds of one where the others are gone, so that nothing is applied twice', () => {
    const run = eagerReduce(2).lost(1).ready(0);
    expect(run.formed()).toEqual([[0]]);
  });

  it('gives a joiner the state of before its first round, and none until it has it', () => {
    const run = eagerReduce(2).ready(0).done(0, 1).join();
    expect(run.of('transfer')).toEqual([]);
    run.ready(0);
    expect(run.of('transfer')).toMatchObject([{ donor: { worker: 0 } }]);
    expect(run.groups).toHaveLength(1);
    expect(run.synced(2, 1).formed().at(-1)).toEqual([0, 1, 2]);
  });

  it('lets go of a silent worker that rounds have gone by', () => {
    const run = eagerReduce(3).suspected(2).ready(0).done(0, 1).say('resumed', 2);
    expect(run.of('dead')).toMatchObject([{ worker: 2, reason: 'rounds went by while it was silent' }]);
  });

  it('expels a worker that is ahead of every round', () => {
    expect(eagerReduce(2).ready(0, 2).types()).toContain('violation');
  });
});

describe('eager-reduce, majority', () => {
  it('begins a round with a worker drawn for it, whoever waits already', () => {
    const workers = [0, 1, 2, 3];
    const initiators = new Set<number>();
    const run = eagerReduce(4, 'majority');
    for (let round = 1; round <= 24; round += 1) {
      for (const worker of workers) {
        if (run.groups.length < round) run.ready(worker);
      }
      initiators.add(run.groups.at(-1)?.members.filter(({ k }) => k === round).length ?? 0);
      run.done(...workers);
    }
    expect(initiators).toEqual(new Set([1, 2, 3, 4]));
  });

  it('says whom it waits for, and draws again when that one is gone', () => {
    const run = eagerReduce(2, 'majority');
    const first = run.ready(0).groups.length > 0 ? 0 : 1;
    const other = eagerReduce(2, 'majority');
    const waiting = 1 - first;
    expect(other.ready(waiting).groups).toHaveLength(0);
    expect(other.view(waiting).waitReason).toMatch(new RegExp(`^waiting for worker ${first}, which`));
    expect(other.lost(first).formed()).toEqual([[waiting]]);
  });
});

/** Worker `worker` takes a step every `periods[worker]` ticks; the real coordinator says when rounds are. */
function train(rule: EagerRule, ticks: number, periods: readonly number[]) {
  const noise = createRandom(7);
  const count = periods.length;
  const run = eagerReduce(count, rule);
  const replicas = periods.map(() => 9);
  const rounds = periods.map(() => 0);
  const buffers = periods.map(() => 0);
  const sums: number[] = [];
  const gradients: { readonly round: number; readonly value: number }[] = [];
  const waits = periods.map(() => false);
  for (let tick = 1; tick <= ticks; tick += 1) {
    periods.forEach((period, worker) => {
      if (tick % period !== 0 || waits[worker] === true) return;
      const gradient = (replicas[worker] as number) - 2 + 0.1 * noise.normal();
      buffers[worker] = (buffers[worker] as number) + gradient;
      gradients.push({ round: sums.length, value: gradient });
      const before = run.groups.length;
      run.ready(worker, (rounds[worker] as number) + 1);
      if (run.groups.length > before) {
        const { members } = run.lastGroupOf(worker);
        sums.push(members.reduce((sum, member) => sum + member.weight * (buffers[member.worker] as number), 0));
        buffers.fill(0);
        run.done(...periods.keys());
        waits.fill(false);
      } else waits[worker] = rounds[worker] === sums.length;
      // Whoever goes on to its next gradient applies all rounds first.
      for (const each of periods.keys()) {
        if (waits[each] === true || (each !== worker && run.groups.length === before)) continue;
        if (each !== worker && tick % (periods[each] as number) !== 0) continue;
        for (; (rounds[each] as number) < sums.length; rounds[each] = (rounds[each] as number) + 1) {
          replicas[each] = (replicas[each] as number) - 0.1 * (sums[rounds[each] as number] as number);
        }
      }
    });
  }
  return { run, replicas, rounds, sums, gradients, left: buffers };
}

describe.each(['solo', 'majority'] as const)('eager-reduce, %s', (rule) => {
  const periods = [1, 1, 2, 4];

  it('sums every gradient once, in the first round after it, as plain arithmetic has it', () => {
    const { sums, gradients, left } = train(rule, 60, periods);
    const expected = sums.map(() => 0);
    let rest = 0;
    for (const { round, value } of gradients) {
      if (round < sums.length) expected[round] = (expected[round] as number) + value / periods.length;
      else rest += value;
    }
    expect(sums.length).toBeGreaterThan(10);
    sums.forEach((sum, i) => expect(sum).toBeCloseTo(expected[i] as number, 12));
    expect(left.reduce((a, b) => a + b, 0)).toBeCloseTo(rest, 12);
  });

  it('finds the optimum of a noisy quadratic, with replicas that are the same after the same rounds', () => {
    const { replicas, rounds, sums } = train(rule, 600, periods);
    const after = (count: number): number => sums.slice(0, count).reduce((x, sum) => x - 0.1 * sum, 9);
    expect(replicas).toEqual(rounds.map(after));
    for (const value of replicas) expect(Math.abs(value - 2)).toBeLessThan(0.3);
  });
});
