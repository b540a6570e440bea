/**
 * The invariant of algorithms.md 3.2, checked by what can be seen from outside: for T >= N - 1 any 2T consecutive groups (T + N - 1 with
 * the window filter), with no abort and no change of the active workers among them, connect all active workers.
 */
import { assert } from '../../base/assert.js';
import type { WorkerId } from '../../base/ids.js';
import type { Effect } from '../../core/effects.js';
import type { RunView } from '../../core/view.js';
import { activeWorkers, type Books } from './lives.js';
import type { Scenario } from './scenario.js';

export interface ConnectivityCheck {
  /** After each step, when the books are up to date. Throws where the invariant is broken. */
  observe(effects: readonly Effect[], view: RunView): void;
  /** Stretches of groups that were checked. */
  readonly windows: number;
}

export function createConnectivityCheck({ filter, strategy, ...scenario }: Scenario, books: Books): ConnectivityCheck {
  let active: readonly WorkerId[] = [];
  let groups: (readonly WorkerId[])[] = [];
  /** The largest T while these groups formed: where it adapts it is fixed when an epoch begins, and may change in a step. */
  let largest = 0;
  let lastBound = 0;
  let windows = 0;

  /** T of the present workers; null where the invariant says nothing. */
  function bound(adaptive: number): number | null {
    const least = active.length - 1;
    if (least < 1) return null;
    const { connectivityGroups } = scenario;
    const wanted = connectivityGroups === 'auto' ? adaptive : connectivityGroups;
    const bounded = Math.max(1, Math.ceil(least / (scenario.groupSize - 1)), wanted);
    return bounded >= least ? bounded : null;
  }

  return {
    observe(effects, view) {
      if (filter === 'none' || strategy !== 'partial-reduce') return;
      const now = activeWorkers(books, view);
      const aborted = effects.some(
        (effect) => effect.type === 'abortGroup' || (effect.type === 'groupClosed' && effect.aborted),
      );
      const same = now.length === active.length && now.every((worker, i) => worker === active[i]);
      // A life that ends and a successor with its number are a change too, though the numbers are the same.
      const replaced = effects.some((effect) => effect.type === 'dead' || effect.type === 'left');
      if (aborted || !same || replaced) groups = [];
      active = now;
      // An expired hold gives connectivity up for a while, and a drain for good.
      if (view.holdsExpired > 0 || view.finishReason !== null) return;
      largest = Math.max(groups.length === 0 ? 0 : largest, lastBound, view.connectivityGroups);
      lastBound = view.connectivityGroups;
      const formed = effects.filter((effect) => effect.type === 'formGroup' && effect.group.kind === 'step');
      // Between two groups of one step an adaptive T may have been any.
      if (scenario.connectivityGroups === 'auto' && formed.length > 1) {
        groups = [];
        return;
      }
      const t = bound(largest);
      for (const effect of effects) {
        if (effect.type !== 'formGroup' || effect.group.kind !== 'step') continue;
        groups.push(effect.group.members.map(({ worker }) => worker));
        if (t === null) continue;
        const length = filter === 'window' ? t + active.length - 1 : 2 * t;
        if (groups.length < length) continue;
        windows += 1;
        const components = componentsOf(active, groups.slice(-length));
        assert(
          components === 1,
          `the last ${length} groups leave ${active.length} workers in ${components} components`,
        );
      }
    },
    get windows() {
      return windows;
    },
  };
}

/** By relabelling: slow and simple, so that it shares nothing with the filter's union-find. */
function componentsOf(workers: readonly WorkerId[], groups: readonly (readonly WorkerId[])[]): number {
  const labels = new Map(workers.map((worker) => [worker, worker]));
  for (const group of groups) {
    const [first] = group;
    if (first === undefined) continue;
    const joined = new Set(group.map((worker) => labels.get(worker) ?? worker));
    const label = labels.get(first) ?? first;
    for (const [worker, old] of labels) if (joined.has(old)) labels.set(worker, label);
  }
  return new Set(labels.values()).size;
}
