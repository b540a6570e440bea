/**
 * Every strategy by name.
 */
import type { StrategyName } from '../config.js';
import { adPsgd } from './ad-psgd.js';
import { allReduce } from './all-reduce.js';
import { eagerReduce } from './eager-reduce.js';
import { localSgd } from './local-sgd.js';
import { partialReduce } from './partial-reduce.js';
import { psAsp } from './ps-asp.js';
import { psBackup } from './ps-backup.js';
import { psBsp } from './ps-bsp.js';
import { psHete } from './ps-hete.js';
import { psSsp } from './ps-ssp.js';
import type { Strategy } from './strategy.js';

export const strategies: Readonly<Record<StrategyName, Strategy>> = {
  'partial-reduce': partialReduce,
  'all-reduce': allReduce,
  'local-sgd': localSgd,
  'eager-reduce': eagerReduce,
  'ad-psgd': adPsgd,
  'ps-bsp': psBsp,
  'ps-asp': psAsp,
  'ps-ssp': psSsp,
  'ps-backup': psBackup,
  'ps-hete': psHete,
};

/** Of those that can be run, and simulated. */
export const STRATEGY_NAMES = Object.keys(strategies) as readonly StrategyName[];
