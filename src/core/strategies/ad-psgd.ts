/**
 * AD-PSGD: even workers, when they have taken a step, average with a random odd one, whose training goes on meanwhile; the graph of
 * who may meet whom is bipartite, so nobody waits in a circle. Source: Lian et al., "Asynchronous decentralized parallel
 * stochastic gradient descent", ICML 2018.
 *
 * Exactly: an even worker applies its gradient, publishes x and waits. An odd one publishes x after each step; when it has its next
 * gradient it takes x as averages have left it, and applies the gradient, taken at the older x, to that.
 */
import type { Strategy } from './strategy.js';

export const adPsgd: Strategy = {
  synchronous: false,
  passive: 'odd-workers',
  replica: { exchanges: 'replica' },
  weights: () => ({ rule: 'constant' }),
  chooseGroup({ signals, passives, draw }) {
    const [first] = signals;
    if (first === undefined) return { wait: 'waiting 0/1', held: false };
    const sound = signals.find(({ finite }) => finite);
    if (passives.oddCount === 0) {
      return sound === undefined
        ? { wait: 'waiting for a worker whose values are finite', held: false }
        : { alone: sound };
    }
    // Who is not finite meets somebody who is, and does not keep the others waiting for that.
    for (const signal of sound === undefined ? [first] : [first, sound]) {
      const partner = passives.drawFreeOdd(draw(), { mustBeFinite: !signal.finite });
      if (partner !== null) return { group: [signal], passive: [partner] };
    }
    return { wait: 'waiting for a worker of an odd number without a group', held: false };
  },
};
