/**
 * `simulate`: one run in virtual time, from options to the numbers that a real run gives. Deterministic: no clock, no
 * chance but the seed's.
 */
import type { RunEvent } from '../observe/run-events.js';
import { createSummary, type RunSummary, summaryFactsOf } from '../observe/summary.js';
import { playFleet } from './fleet.js';
import type { LossPoint } from './loss-curve.js';
import { createNetworkModel, type NetworkModel } from './network-model.js';
import { type ResolvedSimulation, resolveSimulation, type SimulateOptions } from './simulate-options.js';

/** The fields of a real run's summary, in virtual seconds, and what only a simulation has. */
export interface SimulationResult extends RunSummary {
  readonly problem: string;
  /** The loss whose first reaching gives `targetSeconds`; null: no target. */
  readonly targetLoss: number | null;
  /** Root mean square distance of the replicas from their mean, before the final average. */
  readonly replicaDistance: number;
  /** Events that the controller took. */
  readonly events: number;
  /** Fingerprint of all that the controller decided, and when: equal for equal options. */
  readonly traceHash: string;
  /** Loss of the mean replica; the last point is the final model's. */
  readonly curve: readonly LossPoint[];
}

/** Simulates one run; `onEvent` is told its story, as of a real one, but for its evaluations. Throws `bad-option`, `bad-config`, `bad-data`. */
export function simulate(options: SimulateOptions, onEvent?: (event: RunEvent) => void): SimulationResult {
  const resolved = resolveSimulation(options);
  return simulateResolved(resolved, createNetworkModel(resolved.network), onEvent);
}

/** Simulates one run on a network of the caller's. */
export function simulateResolved(
  { source, problem, ...resolved }: ResolvedSimulation,
  network: NetworkModel,
  onEvent?: (event: RunEvent) => void,
): SimulationResult {
  const { core, workerCount, seed, target } = resolved;
  const summary = createSummary(
    summaryFactsOf(core, {
      workers: workerCount,
      seed,
      targetAccuracy: target?.of === 'accuracy' ? target.value : null,
      out: null,
    }),
  );
  const { curve, ...outcome } = playFleet({
    ...resolved,
    network,
    problem: source.create(problem),
    onEvent(event) {
      summary.add(event);
      onEvent?.(event);
    },
  });
  const last = curve.points.at(-1);
  return {
    ...summary.result(),
    targetSeconds: curve.targetMs === null ? null : curve.targetMs / 1000,
    updatesToTarget: curve.targetMs === null ? null : summary.updatesAt(curve.targetMs),
    // A run that diverged has none.
    testLoss: last !== undefined && Number.isFinite(last.loss) ? last.loss : null,
    testAccuracy: last?.accuracy ?? null,
    problem: source.name,
    targetLoss: target?.of === 'loss' ? target.value : null,
    ...outcome,
    curve: curve.points,
  };
}
