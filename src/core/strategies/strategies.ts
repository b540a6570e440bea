/**
 * Every strategy by name.
 */
import type { StrategyName } from '../config.js';
import { allReduce } from './all-reduce.js';
import { localSgd } from './local-sgd.js';
import { partialReduce } from './partial-reduce.js';
import type { Strategy } from './strategy.js';

export const strategies: Readonly<Record<StrategyName, Strategy>> = {
  'partial-reduce': partialReduce,
  'all-reduce': allReduce,
  'local-sgd': localSgd,
};
