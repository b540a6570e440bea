/**
 * What theory says of a run's rho (docs/algorithms.md 5), to be read beside the one that was measured.
 */
import type { SummaryFacts } from './summary.js';

/**
 * Rho of groups of P drawn uniformly from N workers with constant weights, (N - P)/(N - 1). Null for all but partial reduce,
 * whose groups alone have a size of their own, and for one worker.
 */
export function uniformRho({
  strategy,
  workers,
  groupSize,
}: Pick<SummaryFacts, 'strategy' | 'workers' | 'groupSize'>): number | null {
  if (strategy !== 'partial-reduce' || workers < 2) return null;
  return (workers - Math.min(groupSize, workers)) / (workers - 1);
}
