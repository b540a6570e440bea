/**
 * Asynchronous parameter server (algorithms.md 6): each gradient is applied when it comes, x <- x - (gamma / N) g, and its
 * worker goes on from the result; nobody waits for anybody. Source: Dean et al., NIPS 2012 (Downpour SGD), with one step
 * between a push and the next. gamma / N makes N pushes as long as one step of ps-bsp.
 */
import { pushAlone, SERVED } from './ps-round.js';
import type { Strategy } from './strategy.js';

export const psAsp: Strategy = {
  ...SERVED,
  synchronous: false,
  chooseGroup({ signals, active }) {
    const [first] = signals;
    if (first === undefined) return { wait: 'waiting for a gradient', held: false };
    return pushAlone(first, 1 / Math.max(1, active.length));
  },
};
