/**
 * Stale-synchronous parameter server (Ho et al., NIPS 2013): as ps-asp, but a worker that has completed more than s iterations
 * more than the slowest active one waits. Where it differs from the paper: its gradient waits with it, since push and pull are
 * one exchange here; what the bound promises, that nobody computes on parameters that lack updates older than s
 * iterations, holds all the same.
 */
import { pushAlone, SERVED } from './ps-round.js';
import type { Strategy } from './strategy.js';

export const psSsp: Strategy = {
  ...SERVED,
  synchronous: false,
  chooseGroup({ signals, active, pulls }, { staleness }) {
    const slowest = pulls.slowest();
    const least = slowest?.k ?? 0;
    const next = signals.find(({ k }) => k - least <= staleness);
    if (next !== undefined) return pushAlone(next, 1 / Math.max(1, active.length));
    const wait = `${staleness} iterations ahead of worker ${slowest?.worker} at most`;
    return { wait, held: false };
  },
};
