/**
 * Checks a run's configuration: one message that says what was expected, what came and what to do.
 */
import { PreduceError } from '../base/errors.js';
import { unknownNameMessage } from '../base/nearest.js';
import { COLLECTIVE_CHOICES, type CoreConfig, EAGER_RULES, FILTER_NAMES, ROBUST_RULES, WEIGHTINGS } from './config.js';
import { strategies } from './strategies/strategies.js';

/** Numbers of workers and servers together: servers take theirs from the top. */
const NUMBERS_MAX = 4096;

function isWhole(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least;
}

/** Throws `bad-config`. */
export function validateCoreConfig(config: CoreConfig): void {
  for (const problem of problems(config)) throw new PreduceError('bad-config', problem);
}

function* problems(config: CoreConfig): Generator<string> {
  const { groupSize, minWorkers, weights, livenessMs, holdTimeoutMs, connectivityGroups, strategy } = config;
  if (!Object.hasOwn(strategies, strategy)) {
    yield unknownNameMessage('strategy', strategy, Object.keys(strategies));
  }
  if (!FILTER_NAMES.includes(config.filter)) yield unknownNameMessage('filter', config.filter, FILTER_NAMES);
  if (!WEIGHTINGS.includes(config.weighting)) {
    yield unknownNameMessage('weighting', config.weighting, WEIGHTINGS);
  }
  if (!COLLECTIVE_CHOICES.includes(config.collective)) {
    yield unknownNameMessage('collective', config.collective, COLLECTIVE_CHOICES);
  }
  yield* robustProblems(config);
  if (!EAGER_RULES.includes(config.eager)) yield unknownNameMessage('eager rule', config.eager, EAGER_RULES);
  if (!isWhole(config.seed, 0)) yield `seed: expected a whole number from 0, got ${config.seed}`;
  if (!isWhole(config.term, 1)) yield `term: expected a whole number from 1, got ${config.term}`;
  if (!isWhole(groupSize, 2)) {
    yield `group size: expected 2 or more, got ${groupSize}; a group of one would average with nobody`;
  }
  if (!isWhole(config.localSteps, 1)) {
    yield `local steps: expected a whole number from 1, got ${config.localSteps}`;
  }
  if (!isWhole(minWorkers, 1)) yield `workers to start with: expected 1 or more, got ${minWorkers}`;
  if (!isWhole(config.minLiveWorkers, 1) || config.minLiveWorkers > minWorkers) {
    yield `least workers: expected 1 to the ${minWorkers} that the run starts with, got ${config.minLiveWorkers}`;
  }
  if (weights.rule === 'dynamic' && !(weights.alpha > 0 && weights.alpha < 1)) {
    yield `alpha: expected a number between 0 and 1 (both excluded), got ${weights.alpha}`;
  }
  if (!(livenessMs > 0)) yield `liveness: expected a time above 0, got ${livenessMs} ms`;
  if (holdTimeoutMs !== 'auto' && !(holdTimeoutMs > 0)) {
    yield `hold time-out: expected a time above 0 or "auto", got ${holdTimeoutMs} ms`;
  }
  if (connectivityGroups !== 'auto' && !isWhole(connectivityGroups, 1)) {
    yield `connectivity groups: expected a whole number from 1, or "auto", got ${connectivityGroups}`;
  }
  if (config.maxLocalSteps !== null && !isWhole(config.maxLocalSteps, 1)) {
    yield `steps: expected a whole number from 1, got ${config.maxLocalSteps}`;
  }
  if (config.evaluateEverySamples !== null && !isWhole(config.evaluateEverySamples, 1)) {
    yield `samples between evaluations: expected a whole number from 1, got ${config.evaluateEverySamples}`;
  }
  const { everySamples = null, everyMs = null } = config.checkpoints ?? {};
  if (everySamples !== null && !isWhole(everySamples, 1)) {
    yield `samples between checkpoints: expected a whole number from 1, got ${everySamples}`;
  }
  if (everyMs !== null && !(everyMs > 0)) yield `time between checkpoints: expected a time above 0, got ${everyMs} ms`;
  yield* serverProblems(config);
  yield* ledgerProblems(config);
}

function* robustProblems({ robust, collective, strategy }: CoreConfig): Generator<string> {
  if (!ROBUST_RULES.includes(robust)) yield unknownNameMessage('robust rule', robust, ROBUST_RULES);
  if (robust === 'none' || !Object.hasOwn(strategies, strategy)) return;
  const { usesServers = false, passive } = strategies[strategy];
  if (usesServers || passive !== undefined) {
    yield `robust rule ${robust}: expected a strategy whose members all wait for their group, got ${strategy}`;
  }
  if (collective === 'ring') {
    yield `robust rule ${robust}: expected the collective direct or auto, got ring, in which nobody sees all members' values`;
  }
}

function* serverProblems({ servers, staleness, backups, minWorkers, strategy }: CoreConfig): Generator<string> {
  const most = NUMBERS_MAX - minWorkers;
  if (!isWhole(servers, 1)) yield `servers: expected a whole number from 1, got ${servers}`;
  const usesServers = Object.hasOwn(strategies, strategy) && strategies[strategy].usesServers === true;
  if (usesServers && servers > most)
    yield `servers: expected at most ${most} beside ${minWorkers} workers, got ${servers}`;
  if (!isWhole(staleness, 0)) yield `staleness: expected a whole number from 0, got ${staleness}`;
  if (!isWhole(backups, 0)) yield `backups: expected a whole number from 0, got ${backups}`;
  if (strategy === 'ps-backup' && backups >= minWorkers) {
    yield `backups: expected fewer than the ${minWorkers} workers, got ${backups}; no gradient would be waited for`;
  }
}

function* ledgerProblems({ ledger }: CoreConfig): Generator<string> {
  if (ledger === null) return;
  const { sampleCount, batchSamples, leaseBatches, epochs } = ledger;
  if (!isWhole(sampleCount, 1)) yield `training set: expected at least one sample, got ${sampleCount}`;
  if (!isWhole(batchSamples, 1)) yield `batch size: expected a whole number from 1, got ${batchSamples}`;
  if (batchSamples > sampleCount) {
    yield `batch size: expected at most the ${sampleCount} samples of the training set, got ${batchSamples}`;
  }
  if (!isWhole(leaseBatches, 1)) yield `batches of a lease: expected a whole number from 1, got ${leaseBatches}`;
  if (epochs !== null && !isWhole(epochs, 1)) yield `epochs: expected a whole number from 1, got ${epochs}`;
}
