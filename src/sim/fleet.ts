/**
 * A fleet of simulated workers around the real, pure controller, in virtual time. Every event goes through the `step` that a
 * real controller runs, and every effect is carried out as real workers do: what differs from a real run is only where times come
 * from (compute-model.ts, network-model.ts) and that nobody fails.
 */
import { assert, assertPresent } from '../base/assert.js';
import type { WorkerId } from '../base/ids.js';
import type { CoreConfig } from '../core/config.js';
import { createController } from '../core/controller.js';
import type { Effect } from '../core/effects.js';
import type { UntimedEvent } from '../core/events.js';
import type { Group } from '../core/group.js';
import { strategies } from '../core/strategies/strategies.js';
import type { RunEvent } from '../observe/run-events.js';
import { type ComputeModel, createComputeClock } from './compute-model.js';
import { createLossCurve, type CurveTarget, type LossCurve } from './loss-curve.js';
import { createGroupPlay, type GroupOutcome } from './group-play.js';
import { distanceFromMean } from './mean-replica.js';
import type { NetworkModel } from './network-model.js';
import type { Problem } from './problem.js';
import { createSimServers, type SimServers } from './sim-servers.js';
import { createSimWorker, type SimWorker } from './sim-worker.js';
import { createTimeline } from './timeline.js';
import { createTraceHash } from './trace-hash.js';
import { createTraffic } from './traffic.js';

export interface FleetOptions {
  readonly core: CoreConfig;
  readonly workerCount: number;
  readonly compute: ComputeModel;
  readonly network: NetworkModel;
  readonly problem: Problem;
  readonly learningRate: number;
  readonly momentum: number;
  readonly batchSamples: number;
  readonly seed: number;
  /** Virtual time after which no further step is taken; null: no such end. */
  readonly durationMs: number | null;
  readonly target: CurveTarget | null;
  /** Whether reaching the target ends the run. */
  readonly stopAtTarget: boolean;
  /** The run's story, as a real one tells it, without its evaluations. */
  readonly onEvent: (event: RunEvent) => void;
}

export interface FleetOutcome {
  readonly curve: LossCurve;
  /** Of every effect, with its time. */
  readonly traceHash: string;
  /** Events that the controller took. */
  readonly events: number;
  /** How far the replicas lay from their mean before the final average. */
  readonly replicaDistance: number;
}

type EffectOf<K extends Effect['type']> = Extract<Effect, { type: K }>;
type Untimed<T> = T extends RunEvent ? Omit<T, 'timeMs'> : never;

/** There are no second lives: nobody dies who could return. */
const INCARNATION = 1;

/** Plays a run from the first join to the final average. The same options give the same run, bit for bit. */
export function playFleet(options: FleetOptions): FleetOutcome {
  const { core, workerCount, network, problem, batchSamples, onEvent } = options;
  const controller = createController(core);
  const timeline = createTimeline();
  const hash = createTraceHash();
  const curve = createLossCurve(problem, options.target);
  const workers = createWorkers(options);
  const steps = stepsPerRoundOf(core);
  const mustFinish = new Set<WorkerId>();
  const gone = new Set<WorkerId>();
  const groups = createGroupPlay({
    timeline,
    traffic: createTraffic(network),
    controlLatencyMs: network.controlLatencyMs,
    workerOf,
    servers: createServers(options),
    onEnd: endGroup,
  });
  let startMs: number | null = null;
  let isOver = false;
  let isStopping = false;
  let events = 0;
  let replicaDistance = 0;

  function tell(event: Untimed<RunEvent>): void {
    onEvent({ timeMs: timeline.nowMs - (startMs ?? timeline.nowMs), ...event });
  }

  function step(untimed: UntimedEvent): void {
    events += 1;
    const effects = controller.step({ nowMs: timeline.nowMs, ...untimed });
    if (effects.length === 0) return;
    hash.add(`${timeline.nowMs}`);
    for (const effect of effects) {
      hash.add(JSON.stringify(effect));
      carryOut(effect);
    }
  }

  function stop(reason: string): void {
    if (isStopping || isOver) return;
    isStopping = true;
    tell({ type: 'stopping', reason });
    step({ type: 'stop', reason });
  }

  function workerOf(worker: WorkerId): SimWorker {
    return assertPresent(workers[worker], `worker ${worker}`);
  }

  /** A message between the controller and a worker arrives. */
  function afterMessage(act: () => void): void {
    timeline.after(network.controlLatencyMs, act);
  }

  function carryOut(effect: Effect): void {
    switch (effect.type) {
      case 'admit':
        return tell({ ...effect, type: 'workerJoined', hostname: 'simulated', pid: 0 });
      case 'seed':
        return sync(effect.worker, null);
      case 'transfer':
        return sync(effect.joiner.worker, effect.donor.worker);
      case 'start':
        return start(effect.worker);
      case 'formGroup':
        return formGroup(effect.group);
      case 'groupClosed': {
        const { group, committed, aborted } = effect;
        return tell({ type: 'groupClosed', group: group.id, kind: group.kind, committed, aborted });
      }
      case 'release':
        return release(effect);
      case 'wentOn':
        return tell({ type: 'wentOn', worker: effect.worker });
      case 'finish':
        return afterMessage(() => mustFinish.add(effect.worker));
      case 'evaluate':
        return evaluate(effect);
      case 'dead':
        // Only the NaN guard declares somebody dead here.
        gone.add(effect.worker);
        return tell({ type: 'workerDead', worker: effect.worker, reason: effect.reason });
      case 'log':
        return tell({ type: 'fault', kind: effect.kind, worker: effect.worker, message: effect.message });
      case 'runEnded':
        return end(effect);
      default:
        assert(false, `"${effect.type}" has no place in a run where nobody fails`);
    }
  }

  /** Before the run's clock starts: replicas are equal from the beginning, and it costs nothing to say so. */
  function sync(worker: WorkerId, donor: WorkerId | null): void {
    timeline.after(0, () => {
      tell({ type: 'workerSynced', worker, k: 0, donor });
      step({ type: 'synced', worker, incarnation: INCARNATION, k: 0 });
    });
  }

  function start(worker: WorkerId): void {
    if (startMs === null) {
      startMs = timeline.nowMs;
      tell({ type: 'started', workers: workers.map((_, number) => number as WorkerId) });
      if (options.durationMs !== null) timeline.after(options.durationMs, () => stop('the time is up'));
    }
    afterMessage(() => next(worker));
  }

  function next(worker: WorkerId): void {
    if (gone.has(worker)) return;
    if (mustFinish.has(worker)) return groups.whenFree(worker, () => finish(worker));
    const computeMs = workerOf(worker).nextComputeMs();
    timeline.after(computeMs, () => groups.whenFree(worker, () => sendReady(worker, computeMs)));
  }

  function finish(worker: WorkerId): void {
    workerOf(worker).rest();
    groups.madeRoom(worker);
    afterMessage(() => {
      tell({ type: 'workerFinished', worker });
      step({ type: 'finished', worker, incarnation: INCARNATION });
    });
  }

  function sendReady(worker: WorkerId, computeMs: number): void {
    workerOf(worker).compute();
    const { k, finite, goesOn } = workerOf(worker).ready();
    groups.madeRoom(worker);
    afterMessage(() => {
      const samples = steps * batchSamples;
      tell({ type: 'ready', worker, k, steps, samples, loss: null, finite, computeMs, paddingMs: 0, overrun: false });
      if (!finite) tell({ type: 'fault', kind: 'not-finite', worker, message: `not finite after step ${k}` });
      step({ type: 'ready', worker, incarnation: INCARNATION, k, steps, samples, finite });
    });
    if (goesOn) next(worker);
  }

  function release({ worker, k }: EffectOf<'release'>): void {
    tell({ type: 'released', worker, k });
    afterMessage(() => {
      if (gone.has(worker)) return;
      workerOf(worker).commit(workerOf(worker).exchanged, k);
      next(worker);
    });
  }

  function formGroup(group: Group): void {
    const { id, kind, kMax, members } = group;
    const passive = members.filter((member) => member.passive === true).map(({ worker }) => worker);
    tell({
      type: 'groupFormed',
      group: id,
      kind,
      members: members.map((member) => member.worker),
      ...(passive.length === 0 ? {} : { passive }),
      weights: members.map((member) => member.weight),
      staleness: members.map((member) => kMax - member.k),
      kMax,
    });
    if (kind === 'final') replicaDistance = distanceFromMean(members.map(({ worker }) => workerOf(worker).replica));
    groups.formed(group);
  }

  function endGroup({ id, members }: Group, { reduceMs, bytesSent }: GroupOutcome, goOn: readonly WorkerId[]): void {
    afterMessage(() => {
      members.forEach(({ worker }, rank) => {
        tell({ type: 'reduced', group: id, worker, bytesSent: bytesSent(rank), reduceMs });
        step({ type: 'done', worker, incarnation: INCARNATION, group: id });
      });
    });
    for (const worker of goOn) next(worker);
  }

  function evaluate({ progress, workers: numbers }: EffectOf<'evaluate'>): void {
    if (numbers.length === 0) return;
    const replicas = numbers.map((worker) => workerOf(worker).replica);
    const reached = curve.add({ timeMs: timeline.nowMs - (startMs ?? 0), ...progress }, replicas);
    if (reached && options.stopAtTarget)
      timeline.after(0, () => stop(`the ${options.target?.of} reached ${options.target?.value}`));
  }

  function end({ reason, holders, progress }: EffectOf<'runEnded'>): void {
    isOver = true;
    const { maxGroupsToConnect, holdMs, holdsExpired } = controller.view();
    const rho = controller.rho();
    tell({ type: 'runEnded', reason, holders, ...progress, rho, maxGroupsToConnect, holdMs, holdsExpired });
    const [first] = holders;
    // All hold the same.
    if (first === undefined) return;
    curve.add({ timeMs: timeline.nowMs - (startMs ?? 0), ...progress }, [workerOf(first).replica]);
  }

  function advance(): void {
    const { nextMs } = timeline;
    const deadlineMs = controller.nextDeadlineMs();
    if (deadlineMs !== null && (nextMs === null || deadlineMs <= nextMs)) {
      timeline.advanceTo(Math.max(deadlineMs, timeline.nowMs));
      return step({ type: 'tick' });
    }
    assert(nextMs !== null, 'nothing is left to happen, but the run is not over');
    timeline.runNext();
  }

  for (let ticket = 0; ticket < workerCount; ticket += 1) step({ type: 'joined', ticket, requested: null });
  // What they hold is what every replica begins with.
  if (strategies[core.strategy].usesServers === true) step({ type: 'serversReady' });
  while (!isOver) advance();
  return { curve, traceHash: hash.digest(), events, replicaDistance };
}

function stepsPerRoundOf(core: CoreConfig): number {
  return strategies[core.strategy].stepsPerRound?.(core) ?? 1;
}

function createWorkers(options: FleetOptions): readonly SimWorker[] {
  const { core, workerCount, compute, problem, learningRate, momentum, seed } = options;
  const strategy = strategies[core.strategy];
  const stepsPerRound = stepsPerRoundOf(core);
  return Array.from({ length: workerCount }, (_, worker) => {
    const clock = createComputeClock(compute, { worker, workerCount, seed });
    return createSimWorker({ worker, problem, clock, strategy, stepsPerRound, learningRate, momentum, seed });
  });
}

function createServers({ core, problem, learningRate, momentum }: FleetOptions): SimServers | null {
  if (strategies[core.strategy].usesServers !== true) return null;
  return createSimServers({ values: problem.initial(), servers: core.servers, learningRate, momentum });
}
