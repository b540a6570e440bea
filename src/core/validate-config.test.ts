import { describe, expect, it } from 'vitest';
import { PreduceError } from '../base/errors.js';
import {
  type CoreConfig,
  defaultCoreConfig,
  type FilterName,
  type LedgerConfig,
  type StrategyName,
  type Weighting,
} from './config.js';
import { validateCoreConfig } from './validate-config.js';

const ledger: LedgerConfig = { sampleCount: 100, batchSamples: 10, leaseBatches: 2, epochs: 1 };

function withLedger(overrides: Partial<LedgerConfig>): Partial<CoreConfig> {
  return { ledger: { ...ledger, ...overrides } };
}

function dynamic(alpha: number): Partial<CoreConfig> {
  return { weights: { rule: 'dynamic', alpha, gap: 'freshest' } };
}

function refusal(overrides: Partial<CoreConfig>): PreduceError {
  try {
    validateCoreConfig(defaultCoreConfig(overrides));
  } catch (thrown) {
    if (thrown instanceof PreduceError) return thrown;
    throw thrown;
  }
  throw new Error('it was taken as valid');
}

describe('validateCoreConfig', () => {
  it.each<[string, Partial<CoreConfig>]>([
    ['the defaults', {}],
    ['a ledger', { ledger }],
    ['a ledger without end', withLedger({ epochs: null })],
    ['a batch of the whole set', withLedger({ batchSamples: 100 })],
    ['every limit at its least', { groupSize: 2, minWorkers: 1, connectivityGroups: 1, maxLocalSteps: 1, term: 1 }],
    ['all-reduce with constant weights', { strategy: 'all-reduce', weights: { rule: 'constant' } }],
  ])('takes %s', (_, overrides) => {
    expect(() => validateCoreConfig(defaultCoreConfig(overrides))).not.toThrow();
  });

  it.each<[string, Partial<CoreConfig>, string, string]>([
    ['term 0', { term: 0 }, 'term: expected', 'got 0'],
    ['a group of one', { groupSize: 1 }, 'group size: expected 2 or more', 'got 1'],
    ['half a worker in a group', { groupSize: 2.5 }, 'group size: expected', 'got 2.5'],
    ['a group size that is no number', { groupSize: Number.NaN }, 'group size: expected', 'got NaN'],
    ['no workers to start with', { minWorkers: 0 }, 'workers to start with: expected 1 or more', 'got 0'],
    ['alpha 0', dynamic(0), 'alpha: expected a number between 0 and 1', 'got 0'],
    ['alpha 1', dynamic(1), 'alpha: expected', 'got 1'],
    ['alpha NaN', dynamic(Number.NaN), 'alpha: expected', 'got NaN'],
    ['liveness 0', { livenessMs: 0 }, 'liveness: expected a time above 0', 'got 0 ms'],
    ['a negative hold time-out', { holdTimeoutMs: -1 }, 'hold time-out: expected', 'got -1 ms'],
    ['no connectivity groups', { connectivityGroups: 0 }, 'connectivity groups: expected', 'got 0'],
    ['no steps', { maxLocalSteps: 0 }, 'steps: expected a whole number from 1', 'got 0'],
    ['an evaluation every 0 samples', { evaluateEverySamples: 0 }, 'samples between evaluations: expected', 'got 0'],
    ['an empty training set', withLedger({ sampleCount: 0 }), 'training set: expected at least one', 'got 0'],
    ['an empty batch', withLedger({ batchSamples: 0 }), 'batch size: expected a whole number from 1', 'got 0'],
    ['a batch above the set', withLedger({ batchSamples: 101 }), 'batch size: expected at most the 100', 'got 101'],
    ['empty leases', withLedger({ leaseBatches: 0 }), 'batches of a lease: expected', 'got 0'],
    ['no epochs', withLedger({ epochs: 0 }), 'epochs: expected a whole number from 1', 'got 0'],
  ])('refuses %s and says what it expected and got', (_, overrides, expected, got) => {
    const error = refusal(overrides);
    expect(error.code).toBe('bad-config');
    expect(error.message).toContain(expected);
    expect(error.message).toContain(got);
    expect(error.message).not.toContain('\n');
  });

  it('names the nearest strategy for a misspelt one', () => {
    const { message } = refusal({ strategy: 'all-redcue' as StrategyName });
    expect(message).toContain('all-redcue');
    expect(message).toContain('all-reduce');
  });

  it('names the filters for one that is none', () => {
    expect(refusal({ filter: 'windows' as FilterName }).message).toContain('window');
  });

  it('names the weightings for one that is none', () => {
    expect(refusal({ weighting: 'sample' as Weighting }).message).toContain('samples');
  });

  it('refuses names of objects that every object has', () => {
    expect(refusal({ strategy: 'toString' as StrategyName }).code).toBe('bad-config');
  });
});
