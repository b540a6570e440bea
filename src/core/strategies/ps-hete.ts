/**
 * Heterogeneity-aware parameter server (Jiang et al., SIGMOD 2017, DynSGD): a gradient is applied when it comes, divided by its
 * staleness: x <- x - gamma g / d, d = updates since its worker's pull + 1.
 */
import { pushAlone, SERVED } from './ps-round.js';
import type { Strategy } from './strategy.js';

export const psHete: Strategy = {
  ...SERVED,
  synchronous: false,
  chooseGroup({ signals, pulls }) {
    const [first] = signals;
    if (first === undefined) return { wait: 'waiting for a gradient', held: false };
    const age = Math.max(0, pulls.updates - pulls.pulledAt(first.worker));
    return pushAlone(first, 1 / (age + 1));
  },
};
