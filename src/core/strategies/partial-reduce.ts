/**
 * Partial reduce (the paper's method; algorithms.md 2 to 4): the first P workers that are ready average their replicas,
 * as far as the group filter lets them.
 */
import type { Strategy } from './strategy.js';

export const partialReduce: Strategy = {
  synchronous: false,
  replica: { exchanges: 'replica' },
  weights: (config) => config.weights,
  chooseGroup({ signals, active, filter }, { groupSize }) {
    const size = Math.min(groupSize, active.length);
    const [first] = signals;
    if (size <= 1 && first !== undefined) return { alone: first };
    if (signals.length < size) return { wait: `waiting ${signals.length}/${size}`, held: false };
    const decision = filter.choose(signals, size);
    return 'chosen' in decision ? { group: decision.chosen } : { wait: decision.hold, held: true };
  },
};
