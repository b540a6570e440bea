import { describe, expect, it } from 'vitest';
import { type ScriptedRun, startedRun } from '../../test/scenarios/scripted-run.js';
import type { CoreConfig } from './config.js';

/** Workers of these iteration times, whose averages take no time, until `untilMs`. */
function play(iterationsMs: readonly number[], overrides: Partial<CoreConfig>, untilMs: number): ScriptedRun {
  const run = startedRun(iterationsMs.length, overrides);
  const due = iterationsMs.map((milliseconds) => run.nowMs + milliseconds);
  for (;;) {
    const atMs = Math.min(...due);
    if (atMs > untilMs) return run;
    const worker = due.indexOf(atMs);
    due[worker] = Number.POSITIVE_INFINITY;
    const { k } = run.view(worker);
    run.step({ type: 'ready', ...run.life(worker), k: k + 1, samples: 10, finite: true }, atMs - run.nowMs);
    for (const { group } of run.of('formGroup')) {
      for (const member of group.members) {
        run.step({ type: 'done', ...run.life(member.worker), group: group.id }, 0);
        due[member.worker] = run.nowMs + (iterationsMs[member.worker] ?? Number.NaN);
      }
    }
  }
}

describe('the default T', () => {
  // Not the same for all, so that they do not go in step
  const oneSlow = [101, 103, 107, 109, 113, 127, 131, 1000];
  const untilMs = 60_000;

  it('grows to what one slow worker needs, so that it is waited for less', () => {
    const adaptive = play(oneSlow, {}, untilMs).run;
    const plain = play(oneSlow, { connectivityGroups: 14 }, untilMs).run;
    expect(plain.connectivityGroups).toBe(14);
    // Some 30 groups form while it computes.
    expect(adaptive.connectivityGroups).toBeGreaterThan(30);
    expect(adaptive.connectivityGroups).toBeLessThanOrEqual(16 * 7);
    expect(adaptive.progress.localSteps).toBeGreaterThan(1.3 * plain.progress.localSteps);
    expect(adaptive.holdMs).toBeLessThan(0.5 * plain.holdMs);
    expect(adaptive.maxGroupsToConnect).toBeLessThanOrEqual(16 * 7);
  });

  it('stays at 2 (N - 1) among equals', () => {
    const equal = [100, 101, 102, 103, 104, 105, 106, 107];
    expect(play(equal, {}, untilMs).run.connectivityGroups).toBe(14);
  });

  it('shrinks again when the slow one is gone', () => {
    const run = play(oneSlow, {}, untilMs);
    expect(run.lost(7).run.connectivityGroups).toBe(12);
  });
});
