/**
 * Local SGD: each worker takes H local steps (`localSteps`), then all active workers average their replicas with equal weights.
 * Source: Stich, "Local SGD converges fast and communicates little", ICLR 2019, as the synchronous baseline of partial reduce.
 *
 * A round is one group of everybody; a worker whose lease ends (or whose run drains) earlier sends its READY after fewer steps.
 */
import { allReduce } from './all-reduce.js';
import type { Strategy } from './strategy.js';

export const localSgd: Strategy = {
  synchronous: true,
  replica: { exchanges: 'replica' },
  weights: () => ({ rule: 'constant' }),
  stepsPerRound: ({ localSteps }) => localSteps,
  chooseGroup: allReduce.chooseGroup,
};
