/**
 * What a fleet is put through: all of it drawn from one number. Each kind of fault is left out of half of the scenarios (swarm
 * testing, after TigerBeetle's simulator), as faults hide each other when all are always on.
 */
import { createRandom, type Random } from '../../base/random.js';
import {
  type CoreConfig,
  EAGER_RULES,
  type EagerRule,
  type FilterName,
  type LedgerConfig,
  type StrategyName,
  type Weighting,
  WEIGHTINGS,
  type WeightRule,
} from '../../core/config.js';
import { strategies } from '../../core/strategies/strategies.js';

/** How often each kind of fault befalls the fleet. */
export interface Faults {
  readonly joins: number;
  readonly deaths: number;
  readonly leaves: number;
  /** Connections that are silent for a while, and whose workers compute on. */
  readonly stalls: number;
  /** Processes that stand still for a while. */
  readonly hangs: number;
  /** Times that everything dies at once, soon after a checkpoint, and goes on from that. */
  readonly crashes: number;
  /** Times that the controller dies and another goes on from what it had written down. Not where the strategy has servers. */
  readonly restarts: number;
  /** Connections that are lost, and whose workers come back on another. Not where the strategy has servers. */
  readonly cuts: number;
  /** Of effect only where the strategy has servers. */
  readonly losesServer: boolean;
  /** Chance that a member gives up a collective by itself. */
  readonly giveUpRate: number;
  /** Chance that, where it does, it says that another held the group up. */
  readonly accusationRate: number;
  readonly transferFailureRate: number;
  readonly notFiniteRate: number;
  readonly checkpointFailureRate: number;
  /** Chance that a message takes up to `delayMs` longer, and with it all that follow it on its connection. */
  readonly delayRate: number;
  readonly delayMs: number;
}

export interface Scenario extends Faults {
  readonly seed: number;
  readonly strategy: StrategyName;
  readonly groupSize: number;
  readonly localSteps: number;
  readonly eager: EagerRule;
  readonly staleness: number;
  readonly backups: number;
  readonly filter: FilterName;
  readonly connectivityGroups: CoreConfig['connectivityGroups'];
  readonly holdTimeoutMs: CoreConfig['holdTimeoutMs'];
  readonly weights: WeightRule;
  readonly weighting: Weighting;
  readonly livenessMs: number;
  /** Workers that come at the beginning. */
  readonly workers: number;
  readonly minWorkers: number;
  readonly minLiveWorkers: number;
  readonly ledger: LedgerConfig | null;
  readonly checkpoints: CoreConfig['checkpoints'];
  readonly maxLocalSteps: number | null;
  /** Without a ledger: steps that each worker wants to take; null: no limit. */
  readonly ownSteps: number | null;
  /** Faults come within this time; then the run is told to stop, unless it ends by itself. */
  readonly horizonMs: number;
  readonly stops: boolean;
  /** The slowest worker may be this many times slower than the fastest. */
  readonly speedSpread: number;
  /** Share of an iteration, to both sides, by which its length varies; 0: machines as regular as none is. */
  readonly noise: number;
  /** A message takes up to this. */
  readonly latencyMs: number;
}

export function configOf(scenario: Scenario): Partial<CoreConfig> {
  const { strategy, groupSize, filter, connectivityGroups, holdTimeoutMs, weights, weighting } = scenario;
  const { livenessMs, minWorkers, ledger, maxLocalSteps, checkpoints, localSteps, eager, staleness, backups } =
    scenario;
  return {
    strategy,
    groupSize,
    localSteps,
    eager,
    staleness,
    backups,
    seed: scenario.seed,
    filter,
    connectivityGroups,
    holdTimeoutMs,
    weights,
    weighting,
    livenessMs,
    minWorkers,
    minLiveWorkers: scenario.minLiveWorkers,
    ledger,
    checkpoints,
    maxLocalSteps,
    evaluateEverySamples: 200,
    persists: scenario.restarts > 0,
  };
}

const WEIGHT_RULES: readonly WeightRule[] = [
  { rule: 'constant' },
  { rule: 'dynamic', alpha: 0.9, gap: 'freshest' },
  { rule: 'dynamic', alpha: 0.5, gap: 'initial' },
  { rule: 'dynamic', alpha: 0.99, gap: 'initial' },
];

/** Partial reduce has the most rules, and is drawn most. */
const STRATEGIES: readonly StrategyName[] = [
  ...(Object.keys(strategies) as StrategyName[]),
  ...Array.from({ length: 6 }, () => 'partial-reduce' as const),
];

/** The scenario of a seed (a whole number from 0), with these parts fixed. What is drawn does not depend on what is fixed. */
export function drawScenario(seed: number, fixed: Partial<Scenario> = {}): Scenario {
  const random = createRandom(seed).fork(0);
  const draw = createDraw(random);
  const { oneOf, whole, maybe, some } = draw;
  const livenessMs = whole(40, 600);
  return completed({
    seed,
    strategy: oneOf(STRATEGIES),
    groupSize: whole(2, 5),
    localSteps: whole(1, 6),
    eager: oneOf(EAGER_RULES),
    staleness: whole(0, 4),
    backups: whole(0, 2),
    filter: oneOf<FilterName>(['epoch', 'epoch', 'window', 'none']),
    connectivityGroups: oneOf<Scenario['connectivityGroups']>(['auto', whole(1, 12)]),
    holdTimeoutMs: oneOf<Scenario['holdTimeoutMs']>(['auto', 30, 1e7]),
    weights: oneOf(WEIGHT_RULES),
    weighting: oneOf(WEIGHTINGS),
    livenessMs,
    workers: random.next() < 0.1 ? whole(9, 24) : whole(1, 8),
    minWorkers: whole(1, 8),
    minLiveWorkers: random.next() < 0.2 ? whole(2, 4) : 1,
    ledger: maybe(0.5, drawLedger(draw)),
    checkpoints: maybe(
      0.5,
      oneOf([
        { everySamples: whole(20, 300), everyMs: null },
        { everySamples: null, everyMs: 100 },
      ]),
    ),
    maxLocalSteps: maybe(0.67, whole(1, 300)),
    ownSteps: maybe(0.67, whole(1, 40)),
    horizonMs: whole(200, 2000),
    stops: random.next() < 0.5,
    speedSpread: oneOf([1, 3, 8]),
    noise: oneOf([0, 0.05, 0.5]),
    latencyMs: oneOf([0.2, 3, 3, 15]),
    joins: some(4),
    deaths: some(4),
    leaves: some(3),
    stalls: some(6),
    hangs: some(6),
    crashes: some(2),
    losesServer: random.next() < 0.15,
    giveUpRate: rate(random, 0.15),
    accusationRate: rate(random, 1),
    transferFailureRate: rate(random, 0.6),
    notFiniteRate: random.next() < 0.8 ? rate(random, 0.1) : 0.3 + 0.7 * random.next(),
    checkpointFailureRate: rate(random, 0.2),
    delayRate: rate(random, 0.1),
    delayMs: livenessMs * random.next(),
    restarts: some(2),
    cuts: some(4),
    ...fixed,
  });
}

/** Half of the time 0. */
function rate(random: Random, most: number): number {
  return random.next() < 0.5 ? 0 : most * random.next();
}

interface Draw {
  oneOf<T>(values: readonly T[]): T;
  /** From `least` to `most`. */
  whole(least: number, most: number): number;
  maybe<T>(chance: number, value: T): T | null;
  /** Half of the time 0. */
  some(most: number): number;
}

function createDraw(random: Random): Draw {
  const whole: Draw['whole'] = (least, most) => least + random.below(most - least + 1);
  return {
    whole,
    oneOf: <T>(values: readonly T[]) => values[random.below(values.length)] as T,
    maybe: (chance, value) => (random.next() < chance ? value : null),
    some: (most) => (random.next() < 0.5 ? 0 : whole(1, most)),
  };
}

function drawLedger({ whole, oneOf }: Draw): LedgerConfig {
  const batchSamples = whole(1, 16);
  const epochs = oneOf([1, 2, null]);
  return { sampleCount: whole(batchSamples, 400), batchSamples, leaseBatches: whole(1, 6), epochs };
}

/** What fits together: a run must have an end, so whatever has none of its own is stopped. */
function completed(scenario: Scenario): Scenario {
  const { strategy, ledger, maxLocalSteps, ownSteps, stops, backups, checkpoints } = scenario;
  const ends = maxLocalSteps !== null || (ledger === null ? ownSteps !== null : ledger.epochs !== null);
  const minWorkers = Math.min(scenario.minWorkers, scenario.workers);
  return {
    ...scenario,
    minWorkers,
    minLiveWorkers: Math.min(scenario.minLiveWorkers, minWorkers),
    ...(strategies[strategy].usesServers === true ? { restarts: 0 } : {}),
    backups: strategy === 'ps-backup' ? Math.min(backups, minWorkers - 1) : backups,
    // Workers that bring their own data keep no checkpoints.
    checkpoints: ledger === null ? null : checkpoints,
    stops: stops || !ends,
  };
}
