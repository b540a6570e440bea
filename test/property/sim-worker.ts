/**
 * One life of a simulated worker: what an honest worker does with the controller's messages, at its own random speed. It takes
 * no step, it only counts them; its collectives are shared objects that need every member, as the real ones do.
 */
import { assertPresent } from '../../src/base/assert.js';
import type { GroupId, LeaseId, WorkerId } from '../../src/base/ids.js';
import type { Random } from '../../src/base/random.js';
import type { Effect } from '../../src/core/effects.js';
import type { Life, WorkerEvent } from '../../src/core/events.js';
import type { Group } from '../../src/core/group.js';
import { strategies } from '../../src/core/strategies/strategies.js';
import type { Scenario } from './scenario.js';
import type { Timeline } from './timeline.js';

type WithoutLife<T> = T extends WorkerEvent ? Omit<T, keyof Life> : never;

/** A worker's event, whose life the fleet adds. */
export type Report = WithoutLife<WorkerEvent>;

/** A collective as its members share it: nobody can complete it before all have come, or once one has given it up. */
export interface Collective {
  readonly group: Group;
  readonly arrived: Map<WorkerId, () => void>;
  broken: boolean;
}

/** What a worker needs of the world. */
export interface WorkerWorld {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly scenario: Scenario;
  send(report: Report): void;
  collectiveOf(group: Group): Collective;
  /** k of that life's replica; null when it is dead. */
  replicaOf(life: Life): number | null;
}

export interface SimWorker {
  readonly k: number;
  receive(effect: Effect): void;
  /** Its process is gone: it does nothing any more, and breaks the collective that it is in. */
  die(): void;
}

type Activity = 'outside' | 'computing' | 'ready' | 'reducing' | 'asking' | 'finished';

interface Work {
  readonly lease: LeaseId;
  batchesLeft: number;
  samplesLeft: number;
}

const STEP_SAMPLES = 8;

export function createSimWorker(worker: WorkerId, world: WorkerWorld): SimWorker {
  const { timeline, random, scenario, send } = world;
  // Up to eight times slower than the fastest, as algorithms.md 3.2 has it
  const stepMs = 10 * 2 ** (3 * random.next());
  let activity: Activity = 'outside';
  let alive = true;
  let k = 0;
  let stepsTaken = 0;
  let mustFinish = false;
  let work: Work | null = null;
  let collective: Collective | null = null;
  const role = strategies[scenario.strategy].passive;
  /** Its comm thread takes part in groups of steps while it does anything. */
  const isPassive = role === 'everybody' || (role === 'odd-workers' && worker % 2 === 1);
  /** k of the replica that the training thread has: rounds may have gone by since. */
  let trainedK = 0;
  /** What the training thread wants to do when the collective is over. */
  let then: (() => void) | null = null;

  function fail(message: string): never {
    throw new Error(`worker ${worker} at ${timeline.nowMs} ms: ${message}`);
  }

  function later(meanMs: number, act: () => void): void {
    timeline.after(meanMs * (0.5 + random.next()), 'fleet', () => {
      if (alive) act();
    });
  }

  function next(): void {
    if (mustFinish || (scenario.ledger === null && scenario.ownSteps !== null && stepsTaken >= scenario.ownSteps)) {
      activity = 'finished';
      return send({ type: 'finished' });
    }
    if (scenario.ledger !== null && (work === null || work.batchesLeft === 0)) {
      const finished = work?.lease ?? null;
      work = null;
      activity = 'asking';
      return send({ type: 'leaseRequested', finished });
    }
    activity = 'computing';
    trainedK = k;
    later(stepMs, () => {
      if (isPassive) return endPassiveStep();
      activity = 'ready';
      stepsTaken += 1;
      send({ type: 'ready', k: k + 1, samples: takeBatch(), finite: random.next() >= scenario.notFiniteRate });
    });
  }

  function endPassiveStep(): void {
    if (role === 'odd-workers' && collective !== null) {
      then = endPassiveStep;
      return;
    }
    stepsTaken += 1;
    const ready = role === 'everybody' ? trainedK + 1 : k + 1;
    if (role === 'odd-workers') k = ready;
    send({ type: 'ready', k: ready, samples: takeBatch(), finite: random.next() >= scenario.notFiniteRate });
    if (ready <= k) return next();
    activity = 'ready';
  }

  /** The comm thread is free again. */
  function afterPassive(): void {
    const resume = then;
    then = null;
    if (resume !== null) resume();
    else if (activity === 'ready' && k > trainedK) next();
  }

  function joinPassively(group: Group): void {
    if (collective !== null) fail(`got group ${group.id} while in group ${collective.group.id}`);
    const joined = world.collectiveOf(group);
    collective = joined;
    joined.arrived.set(worker, () => {
      if (collective !== joined || joined.broken) return;
      collective = null;
      k = Math.max(k, group.kMax);
      send({ type: 'done', group: group.id });
      afterPassive();
    });
    completeOrGiveUp(joined);
  }

  function completeOrGiveUp({ group, arrived }: Collective): void {
    if (arrived.size === group.members.length) {
      for (const complete of arrived.values()) timeline.after(1 + 9 * random.next(), 'fleet', complete);
    }
    if (random.next() < scenario.giveUpRate) later(6, () => giveUp(group.id, 'a peer does not answer'));
  }

  function takeBatch(): number {
    if (work === null) return STEP_SAMPLES;
    const samples = Math.min(assertPresent(scenario.ledger, 'a ledger').batchSamples, work.samplesLeft);
    work.batchesLeft -= 1;
    work.samplesLeft -= samples;
    return samples;
  }

  function joinCollective(group: Group): void {
    if (isPassive && group.kind === 'step') return joinPassively(group);
    const expected: Activity = group.kind === 'final' ? 'finished' : 'ready';
    if (activity !== expected) fail(`got group ${group.id} while ${activity}`);
    const joined = world.collectiveOf(group);
    activity = 'reducing';
    collective = joined;
    joined.arrived.set(worker, () => {
      if (collective !== joined || joined.broken) return;
      collective = null;
      k = group.kMax;
      send({ type: 'done', group: group.id });
      if (group.kind === 'final') activity = 'finished';
      else next();
    });
    completeOrGiveUp(joined);
  }

  function giveUp(group: GroupId, reason: string): void {
    if (collective?.group.id !== group) return;
    collective.broken = true;
    const wasPassive = isPassive && collective.group.kind === 'step';
    if (!wasPassive) activity = collective.group.kind === 'final' ? 'finished' : 'ready';
    collective = null;
    send({ type: 'aborted', group, reason });
    if (wasPassive) afterPassive();
  }

  function fetchModel(donor: Life | null): void {
    if (activity !== 'outside') fail(`told to fetch the model while ${activity}`);
    later(20, () => {
      const replica = donor === null ? 0 : world.replicaOf(donor);
      if (replica === null || (donor !== null && random.next() < scenario.transferFailureRate)) {
        return send({ type: 'transferFailed', reason: 'cut' });
      }
      k = replica;
      send({ type: 'synced', k });
    });
  }

  function receive(effect: Effect): void {
    switch (effect.type) {
      case 'seed':
        return fetchModel(null);
      case 'transfer':
        return fetchModel(effect.donor);
      case 'start':
        if (activity !== 'outside') fail(`told to start while ${activity}`);
        return next();
      case 'lease': {
        if (activity !== 'asking') fail(`got lease ${effect.lease.id} while ${activity}`);
        const { id, count } = effect.lease;
        const { batchSamples } = assertPresent(scenario.ledger, 'a ledger');
        work = { lease: id as LeaseId, batchesLeft: Math.ceil(count / batchSamples), samplesLeft: count };
        return next();
      }
      case 'formGroup':
        return joinCollective(effect.group);
      case 'abortGroup':
        return giveUp(effect.group, effect.reason);
      case 'release':
        if (activity !== 'ready') fail(`released while ${activity}`);
        ({ k } = effect);
        return next();
      case 'finish':
        mustFinish = true;
        if (activity === 'asking') next();
        return;
      default:
        fail(`got "${effect.type}", which is not for workers`);
    }
  }

  return {
    receive,
    die() {
      alive = false;
      if (collective !== null) collective.broken = true;
      collective = null;
    },
    get k() {
      return k;
    },
  };
}
