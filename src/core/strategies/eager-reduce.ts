/**
 * Eager-reduce: rounds over everybody that do not wait for everybody. Source: Li et al., "Taming unbalanced training workloads in
 * deep learning with partial collective operations", PPoPP 2020 (eager-SGD).
 *
 * Exactly: gradients add up in a worker's send buffer. A round begins with the first READY (`solo`) or with that of a worker drawn
 * for the round (`majority`); everybody's send buffer, empty or not, goes into its sum and is emptied. Each worker
 * applies the sums of all rounds, one after another, times 1/N: so replicas stay identical.
 */
import type { Strategy } from './strategy.js';

export const eagerReduce: Strategy = {
  synchronous: true,
  passive: 'everybody',
  replica: { exchanges: 'gradient' },
  weights: () => ({ rule: 'constant' }),
  chooseGroup({ signals, active, joinerCount, passives, draw }, { eager }) {
    // A joiner's replica must contain every round before its first.
    if (joinerCount > 0) return { wait: 'waiting for a joiner to get the model', held: false };
    if (passives.busyCount > 0) return { wait: 'waiting for the last round to end', held: false };
    const initiator = eager === 'solo' ? null : active[draw().below(active.length)];
    if (initiator !== null && !signals.some(({ worker }) => worker === initiator)) {
      return { wait: `waiting for worker ${initiator}, which this round was left to`, held: false };
    }
    return { group: signals, passive: passives.list() };
  },
};
