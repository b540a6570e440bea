/**
 * Synchronous all-reduce (BSP): every round is a group of all active workers; gradients are averaged with equal weights, and
 * everybody applies the same update. A joiner is waited for, because its replica must be of the same round.
 */
import type { Strategy } from './strategy.js';

export const allReduce: Strategy = {
  synchronous: true,
  replica: { exchanges: 'gradient' },
  weights: () => ({ rule: 'constant' }),
  chooseGroup({ signals, active, joinerCount }) {
    const size = active.length + joinerCount;
    const [first] = signals;
    if (size <= 1 && first !== undefined) return { alone: first };
    if (signals.length < size) return { wait: `waiting ${signals.length}/${size}`, held: false };
    return { group: signals };
  },
};
