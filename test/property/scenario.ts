/**
 * What a simulated fleet is put through: drawn by fast-check, which shrinks it. Each kind of fault is off in half of the
 * scenarios (swarm testing, after TigerBeetle's simulator): faults hide each other when all are always on.
 */
import { type Arbitrary, boolean, constant, constantFrom, double, integer, oneof, option, record } from 'fast-check';
import {
  type CoreConfig,
  type FilterName,
  type LedgerConfig,
  type StrategyName,
  type Weighting,
  WEIGHTINGS,
  type WeightRule,
} from '../../src/core/config.js';

export interface Scenario {
  readonly seed: number;
  readonly strategy: StrategyName;
  readonly groupSize: number;
  readonly filter: FilterName;
  readonly connectivityGroups: CoreConfig['connectivityGroups'];
  readonly holdTimeoutMs: CoreConfig['holdTimeoutMs'];
  readonly weights: WeightRule;
  readonly weighting: Weighting;
  readonly livenessMs: number;
  /** Workers that come at the beginning. */
  readonly workers: number;
  readonly minWorkers: number;
  readonly ledger: LedgerConfig | null;
  readonly maxLocalSteps: number | null;
  /** Without a ledger: steps that each worker wants to take; null: no limit. */
  readonly ownSteps: number | null;
  /** World events come within this time; then the run is told to stop, unless it ends by itself. */
  readonly horizonMs: number;
  readonly stops: boolean;
  readonly joins: number;
  readonly deaths: number;
  readonly leaves: number;
  readonly stalls: number;
  /** Chance that a member gives up a collective by itself. */
  readonly giveUpRate: number;
  readonly transferFailureRate: number;
  readonly notFiniteRate: number;
}

export function configOf(scenario: Scenario): Partial<CoreConfig> {
  const { strategy, groupSize, filter, connectivityGroups, holdTimeoutMs, weights, weighting } = scenario;
  const { livenessMs, minWorkers, ledger, maxLocalSteps } = scenario;
  return {
    strategy,
    groupSize,
    filter,
    connectivityGroups,
    holdTimeoutMs,
    weights,
    weighting,
    livenessMs,
    minWorkers: Math.min(minWorkers, scenario.workers),
    ledger,
    maxLocalSteps,
    evaluateEverySamples: 200,
  };
}

const weightRules = constantFrom<WeightRule[]>(
  { rule: 'constant' },
  { rule: 'dynamic', alpha: 0.9, gap: 'freshest' },
  { rule: 'dynamic', alpha: 0.5, gap: 'initial' },
  { rule: 'dynamic', alpha: 0.99, gap: 'initial' },
);

const ledgers = record({
  sampleCount: integer({ min: 40, max: 1500 }),
  batchSamples: integer({ min: 1, max: 40 }).map((samples) => Math.max(8, samples)),
  leaseBatches: integer({ min: 1, max: 6 }),
  epochs: constantFrom(1, 2, null),
});

function rate(max: number): Arbitrary<number> {
  return oneof(constant(0), double({ min: 0, max, noNaN: true }));
}

function count(max: number): Arbitrary<number> {
  return oneof(constant(0), integer({ min: 1, max }));
}

/** Scenarios with these parts fixed. */
export function scenarios(fixed: Partial<Scenario> = {}): Arbitrary<Scenario> {
  return record({
    seed: integer({ min: 0, max: 2 ** 31 }),
    strategy: constantFrom<StrategyName[]>('partial-reduce', 'partial-reduce', 'partial-reduce', 'all-reduce'),
    groupSize: integer({ min: 2, max: 4 }),
    filter: constantFrom<FilterName[]>('epoch', 'epoch', 'window', 'none'),
    connectivityGroups: oneof(constant<Scenario['connectivityGroups']>('auto'), integer({ min: 1, max: 12 })),
    holdTimeoutMs: constantFrom<Scenario['holdTimeoutMs'][]>('auto', 30, 1e7),
    weights: weightRules,
    weighting: constantFrom(...WEIGHTINGS),
    livenessMs: integer({ min: 40, max: 600 }),
    workers: integer({ min: 1, max: 8 }),
    minWorkers: integer({ min: 1, max: 8 }),
    ledger: option(ledgers),
    maxLocalSteps: option(integer({ min: 1, max: 300 }), { freq: 3 }),
    ownSteps: option(integer({ min: 1, max: 40 }), { freq: 3 }),
    horizonMs: integer({ min: 200, max: 2000 }),
    stops: boolean(),
    joins: count(4),
    deaths: count(4),
    leaves: count(3),
    stalls: count(6),
    giveUpRate: rate(0.15),
    transferFailureRate: rate(0.6),
    notFiniteRate: oneof(
      { weight: 4, arbitrary: rate(0.1) },
      { weight: 1, arbitrary: double({ min: 0.3, max: 1, noNaN: true }) },
    ),
  }).map((scenario): Scenario => bounded({ ...scenario, ...fixed }));
}

/** A run must have an end: whatever has none of its own is stopped. */
function bounded(scenario: Scenario): Scenario {
  const { ledger, maxLocalSteps, ownSteps, stops } = scenario;
  const ends = maxLocalSteps !== null || (ledger === null ? ownSteps !== null : ledger.epochs !== null);
  return ends ? scenario : { ...scenario, stops: stops || !ends };
}
