/**
 * Backup workers (Chen et al., "Revisiting Distributed Synchronous SGD", 2016): a round ends at the first N - b gradients, whose
 * mean is applied; a late one is discarded on arrival, and its worker pulls. N counts active workers.
 */
import { chooseRound, SERVED } from './ps-round.js';
import type { Strategy } from './strategy.js';

export const psBackup: Strategy = {
  ...SERVED,
  synchronous: false,
  chooseGroup: (context, { backups }) => chooseRound(context, Math.max(1, context.active.length - backups)),
};
