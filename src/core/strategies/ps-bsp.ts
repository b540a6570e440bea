/**
 * Bulk-synchronous parameter server (algorithms.md 6): every round the mean of all active workers' gradients is applied. The
 * same updates as all-reduce's; only who sends what to whom differs.
 */
import { chooseRound, SERVED } from './ps-round.js';
import type { Strategy } from './strategy.js';

export const psBsp: Strategy = {
  ...SERVED,
  synchronous: true,
  chooseGroup: (context) => chooseRound(context, Math.max(1, context.active.length + context.joinerCount)),
};
