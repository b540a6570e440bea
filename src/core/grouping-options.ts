/**
 * How workers are grouped and weighted, as people ask for it: for runs and for simulations.
 */
import type { CoreConfig, FilterName, Weighting } from './config.js';

export interface GroupingOptions {
  /** Default dynamic. */
  readonly weights?: 'dynamic' | 'constant';
  /** `samples`: weights are multiplied by the samples since the last group. Default equal. */
  readonly weighting?: Weighting;
  /** Staleness decay of the dynamic weights, default 0.9. */
  readonly alpha?: number;
  /** Who gets the mass of ages that no member has, default freshest. */
  readonly gap?: 'freshest' | 'initial';
  /** Default epoch. */
  readonly filter?: FilterName;
  /** T, in groups; default auto. */
  readonly connectivityGroups?: number | 'auto';
}

/** What core is told of them; it checks the values. */
export function groupingConfig(options: GroupingOptions): Partial<CoreConfig> {
  const { weights, weighting = 'equal', alpha = 0.9, gap = 'freshest', filter, connectivityGroups } = options;
  return {
    weights: weights === 'constant' ? { rule: 'constant' } : { rule: 'dynamic', alpha, gap },
    weighting,
    ...(filter === undefined ? {} : { filter }),
    ...(connectivityGroups === undefined ? {} : { connectivityGroups }),
  };
}
