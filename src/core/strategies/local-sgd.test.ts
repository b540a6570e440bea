import { describe, expect, it } from 'vitest';
import { createRandom } from '../../base/random.js';
import { ScriptedRun, startedRun } from '../../../test/scenarios/scripted-run.js';

const H = 4;

function localSgd(workers: number): ScriptedRun {
  return startedRun(workers, { strategy: 'local-sgd', localSteps: H });
}

/** READY of a worker after this many local steps. */
function ready(run: ScriptedRun, worker: number, steps: number, k = run.view(worker).k + steps): ScriptedRun {
  return run.step({ type: 'ready', ...run.life(worker), k, steps, samples: 10 * steps, finite: true });
}

describe('local SGD', () => {
  it('groups everybody after H steps, with equal weights, and counts all of them', () => {
    const run = localSgd(3);
    for (const worker of [2, 0, 1]) ready(run, worker, H);
    expect(run.formed()).toEqual([[2, 0, 1]]);
    const [group] = run.groups;
    expect(group?.members.map(({ weight }) => weight)).toEqual([1 / 3, 1 / 3, 1 / 3]);
    expect(group?.kMax).toBe(H);
    expect(run.run.progress).toEqual({ samples: 30 * H, localSteps: 3 * H });
    expect(run.done(0, 1, 2).view(1)).toMatchObject({ k: H, localSteps: H, state: 'computing' });
  });

  it('takes a shorter round, and goes on from the longest', () => {
    const run = localSgd(2);
    ready(ready(run, 0, 1), 1, H).done(0, 1);
    expect(run.view(0)).toMatchObject({ k: H, localSteps: 1 });
  });

  it('waits for the last, however far the others are', () => {
    const run = ready(ready(localSgd(3), 0, H), 1, H);
    expect(run.groups).toEqual([]);
    expect(run.view(0).waitReason).toMatch(/^waiting 2\/3: worker 2 computing/);
  });

  it('keeps rounds whole while the run drains', () => {
    const run = localSgd(3).step({ type: 'stop', reason: 'enough' });
    for (const worker of [0, 1]) ready(run, worker, 2);
    expect(run.groups).toEqual([]);
    expect(ready(run, 2, 1).formed()).toEqual([[0, 1, 2]]);
  });

  it.each([
    ['no step', 0, 0],
    ['more than H steps', H + 1, H + 1],
    ['steps that k does not count', 2, 3],
  ])('expels a worker that reports %s', (_, steps, k) => {
    const run = ready(localSgd(2), 0, steps, k);
    expect(run.types()).toContain('violation');
  });

  it('is one step at a time for other strategies', () => {
    expect(ready(startedRun(2), 0, 2).types()).toContain('violation');
  });

  it('computes what plain arithmetic does, and finds the optimum of a noisy quadratic', () => {
    const [workers, rounds, rate] = [3, 60, 0.1];
    const noise = createRandom(5);
    const draws = Array.from({ length: rounds * workers * H }, () => noise.next() - 0.5);
    const gradientAt = (x: number, draw: number): number => x - 2 + 0.1 * draw;
    // By the real coordinator, workers coming in another order each round
    const run = localSgd(workers);
    const replicas = [9, 9, 9];
    for (let round = 0; round < rounds; round += 1) {
      for (let each = 0; each < workers; each += 1) {
        const worker = (each + round) % workers;
        for (let step = 0; step < H; step += 1) {
          const draw = draws[(round * workers + worker) * H + step] as number;
          replicas[worker] = (replicas[worker] as number) - rate * gradientAt(replicas[worker] as number, draw);
        }
        ready(run, worker, H);
      }
      const { members } = run.lastGroupOf(0);
      const mean = members.reduce((sum, { worker, weight }) => sum + weight * (replicas[worker] as number), 0);
      replicas.fill(mean);
      run.done(0, 1, 2);
    }
    // By hand
    let x = 9;
    for (let round = 0; round < rounds; round += 1) {
      let sum = 0;
      for (let worker = 0; worker < workers; worker += 1) {
        let local = x;
        for (let step = 0; step < H; step += 1) {
          local -= rate * gradientAt(local, draws[(round * workers + worker) * H + step] as number);
        }
        sum += local;
      }
      x = sum / workers;
    }
    expect(replicas[0]).toBeCloseTo(x, 12);
    expect(x).toBeGreaterThan(1.95);
    expect(x).toBeLessThan(2.05);
    expect(run.run.progress.localSteps).toBe(rounds * workers * H);
  });
});
