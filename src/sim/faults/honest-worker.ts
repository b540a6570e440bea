/**
 * One life of a simulated worker: what an honest worker does with the controller's messages, at its own random speed. It takes
 * no step, it only counts them; its collectives are shared objects that need every member, as the real ones do.
 */
import { assertPresent } from '../../base/assert.js';
import type { GroupId, LeaseId, WorkerId } from '../../base/ids.js';
import type { Random } from '../../base/random.js';
import type { CoreConfig } from '../../core/config.js';
import type { Effect } from '../../core/effects.js';
import type { Life, Standing, WorkerEvent } from '../../core/events.js';
import type { Group } from '../../core/group.js';
import { strategies } from '../../core/strategies/strategies.js';
import type { Scenario } from './scenario.js';

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
  readonly random: Random;
  readonly scenario: Scenario;
  readonly config: CoreConfig;
  /** Does it after a while. */
  after(delayMs: number, act: () => void): void;
  /** Whether a fault with this chance comes now. */
  strikes(rate: number): boolean;
  send(report: Report): void;
  collectiveOf(group: Group): Collective;
  /** k of that life's replica; null when it is dead. */
  replicaOf(donor: Life): number | null;
  /** k that it goes on from where the run is one that goes on from a checkpoint, else 0. */
  restoredK(): number;
}

/** What a worker is back with. */
export interface Return {
  readonly standing: Standing;
  /** Samples of its lease that its READYs were about. */
  readonly used: number;
}

export interface HonestWorker {
  readonly k: number;
  receive(effect: Effect): void;
  /** Its connection is lost: nothing that it sends is heard. It leaves its collective, and takes steps of its own where it can. */
  disconnect(): void;
  /** It has another connection, on which it says first where it stands. */
  reconnect(): Return;
  /** Its process stands still: what falls due meanwhile is done when it goes on. */
  freeze(): void;
  thaw(): void;
  /** Its process is gone: it does nothing any more, and breaks the collective that it is in. */
  die(): void;
}

type Activity = 'outside' | 'computing' | 'ready' | 'reducing' | 'asking' | 'finished';

interface Work {
  readonly lease: LeaseId;
  readonly count: number;
  samplesLeft: number;
}

interface CheckpointRequest {
  readonly checkpoint: number;
  readonly fromK: number;
}

const STEP_MS = 10;
const STEP_SAMPLES = 8;
const TRANSFER_MS = 20;
const GIVE_UP_MS = 6;

export function createHonestWorker(worker: WorkerId, world: WorkerWorld): HonestWorker {
  const { random, scenario, send } = world;
  const stepMs = STEP_MS * scenario.speedSpread ** random.next();
  const strategy = strategies[scenario.strategy];
  const stepsPerRound = strategy.stepsPerRound?.(world.config) ?? 1;
  let activity: Activity = 'outside';
  let alive = true;
  /** What fell due while it stood still; null: it does not. */
  let deferred: (() => void)[] | null = null;
  let k = 0;
  let stepsTaken = 0;
  /** Steps, and their samples, since the last READY. */
  let round = { steps: 0, samples: 0, finite: true };
  let mustFinish = false;
  let work: Work | null = null;
  let collective: Collective | null = null;
  let request: CheckpointRequest | null = null;
  let connected = true;
  let standing: Standing = {
    doing: 'joining',
    k: null,
    ready: null,
    finite: true,
    localSteps: 0,
    samples: 0,
    samplesSinceGroup: 0,
    lease: null,
    finished: null,
  };
  /** Counts the times that it was told to fetch the model, or left that: only the last one comes to something. */
  let fetches = 0;
  /** Its comm thread takes part in groups of steps while it does anything. */
  const isPassive = strategy.passive === 'everybody' || (strategy.passive === 'odd-workers' && worker % 2 === 1);
  /** k of the replica that the training thread has: rounds may have gone by since. */
  let trainedK = 0;
  /** What the training thread wants to do when the collective is over. */
  let then: (() => void) | null = null;

  const trainsAlone = strategy.replica.exchanges === 'replica' && !isPassive;

  function stands(change: Partial<Standing>): void {
    standing = { ...standing, ...change };
  }

  /** Its replica has this k, or a greater one. A READY of no more is answered. */
  function reached(to: number): void {
    k = Math.max(k, to);
    const { ready } = standing;
    stands({ k, ready: ready !== null && ready.k <= k ? null : ready });
  }

  /** Answers a READY that nobody hears. */
  function goOnAlone(): void {
    const { ready } = standing;
    if (connected || ready === null || collective !== null || !trainsAlone) return;
    reached(ready.k);
    next();
  }

  function fail(message: string): never {
    throw new Error(`worker ${worker}: ${message}`);
  }

  function perform(act: () => void): void {
    if (!alive) return;
    if (deferred === null) act();
    else deferred.push(act);
  }

  function later(meanMs: number, act: () => void, noise = 0.5): void {
    world.after(meanMs * (1 + noise * (2 * random.next() - 1)), () => perform(act));
  }

  function hasNoData(): boolean {
    return scenario.ledger === null && scenario.ownSteps !== null && stepsTaken >= scenario.ownSteps;
  }

  function next(): void {
    const leaseEnds = scenario.ledger !== null && (work === null || work.samplesLeft === 0);
    const isOver = mustFinish || hasNoData();
    if (round.steps > 0 && (isOver || leaseEnds)) return sendReady();
    if (round.steps === 0) answerCheckpoint(isOver);
    if (isOver) {
      activity = 'finished';
      stands({ doing: 'finished', lease: null, finished: null });
      return send({ type: 'finished' });
    }
    if (leaseEnds) {
      const finished = work?.lease ?? null;
      work = null;
      activity = 'asking';
      stands({ doing: 'idle', lease: null, finished });
      send({ type: 'leaseRequested', finished });
      return;
    }
    activity = 'computing';
    trainedK = k;
    later(stepMs, endStep, scenario.noise);
  }

  function endStep(): void {
    if (strategy.passive === 'odd-workers' && isPassive && collective !== null) {
      then = endStep;
      return;
    }
    stepsTaken += 1;
    const isFinite = !world.strikes(scenario.notFiniteRate);
    round = { steps: round.steps + 1, samples: round.samples + takeBatch(), finite: round.finite && isFinite };
    if (round.steps < stepsPerRound) next();
    else sendReady();
  }

  function sendReady(): void {
    const { steps, samples, finite } = round;
    round = { steps: 0, samples: 0, finite: true };
    const ready = (strategy.passive === 'everybody' ? trainedK : k) + steps;
    activity = 'ready';
    stands({
      ready: ready <= k ? null : { k: ready, finite },
      finite,
      localSteps: standing.localSteps + steps,
      samples: standing.samples + samples,
      samplesSinceGroup: standing.samplesSinceGroup + samples,
    });
    if (strategy.passive === 'odd-workers' && isPassive) reached(ready);
    send({ type: 'ready', k: ready, steps, samples, finite });
    if (isPassive && ready <= k) next();
    else goOnAlone();
  }

  /** The comm thread is free again. */
  function afterPassive(): void {
    const resume = then;
    then = null;
    if (resume !== null) resume();
    else if (activity === 'ready' && k > trainedK) next();
  }

  function takeBatch(): number {
    if (work === null) return STEP_SAMPLES;
    const samples = Math.min(assertPresent(scenario.ledger, 'a ledger').batchSamples, work.samplesLeft);
    work.samplesLeft -= samples;
    return samples;
  }

  /** Between two steps. Who takes no further step does not wait for `fromK`. */
  function answerCheckpoint(isAtRest: boolean): void {
    if (request === null || (!isAtRest && k < request.fromK)) return;
    const { checkpoint } = request;
    request = null;
    if (world.strikes(scenario.checkpointFailureRate)) {
      send({ type: 'checkpointFailed', checkpoint, reason: 'no space' });
      return;
    }
    const position =
      work === null ? { lease: null, processed: 0 } : { lease: work.lease, processed: processedOf(work) };
    send({ type: 'checkpointed', checkpoint, part: { k, ...position, bytes: 1, sha256: '' } });
  }

  function joinCollective(group: Group): void {
    const passively = isPassive && group.kind === 'step';
    const expected: Activity = group.kind === 'final' ? 'finished' : 'ready';
    if (collective !== null) fail(`got group ${group.id} while in group ${collective.group.id}`);
    if (!passively && activity !== expected) fail(`got group ${group.id} while ${activity}`);
    const joined = world.collectiveOf(group);
    if (!passively) activity = 'reducing';
    collective = joined;
    joined.arrived.set(worker, () => perform(() => complete(joined, passively)));
    if (joined.arrived.size === group.members.length) {
      for (const completeOne of joined.arrived.values()) world.after(1 + 9 * random.next(), completeOne);
    }
    if (world.strikes(scenario.giveUpRate))
      later(GIVE_UP_MS, () => giveUp(group.id, 'a peer does not answer', whomToAccuse(group)));
  }

  function complete(joined: Collective, passively: boolean): void {
    const { group, broken } = joined;
    if (collective !== joined || broken) return;
    collective = null;
    if (!passively) k = group.kMax;
    reached(group.kMax);
    stands({ finite: true, samplesSinceGroup: 0 });
    send({ type: 'done', group: group.id });
    if (passively) afterPassive();
    else if (group.kind === 'final') activity = 'finished';
    else next();
  }

  /** One of its peers, where the fault is said to be that it moves nothing. */
  function whomToAccuse({ members }: Group): WorkerId | null {
    const peers = members.filter((member) => member.worker !== worker);
    const accused = peers[random.below(peers.length)];
    return accused !== undefined && world.strikes(scenario.accusationRate) ? accused.worker : null;
  }

  function giveUp(group: GroupId, reason: string, accused: WorkerId | null = null): void {
    if (collective?.group.id !== group) return;
    collective.broken = true;
    const passively = isPassive && collective.group.kind === 'step';
    if (!passively) activity = collective.group.kind === 'final' ? 'finished' : 'ready';
    collective = null;
    send({ type: 'aborted', group, reason, ...(accused === null ? {} : { stalled: accused }) });
    if (passively) afterPassive();
    else goOnAlone();
  }

  function fetchModel(donor: Life | null): void {
    if (activity !== 'outside') fail(`told to fetch the model while ${activity}`);
    if (standing.doing !== 'joining') fail('told to fetch the model again');
    fetches += 1;
    const own = fetches;
    later(TRANSFER_MS, () => {
      if (own !== fetches) return;
      const replica = donor === null ? world.restoredK() : world.replicaOf(donor);
      if (replica === null || (donor !== null && world.strikes(scenario.transferFailureRate))) {
        return send({ type: 'transferFailed', reason: 'cut' });
      }
      k = replica;
      stands({ doing: 'waiting', k });
      send({ type: 'synced', k });
    });
  }

  function takeLease(effect: Extract<Effect, { type: 'lease' }>): void {
    const { id, count } = effect.lease;
    if (activity !== 'asking') fail(`got lease ${id} while ${activity}`);
    work = { lease: id as LeaseId, count, samplesLeft: count };
    stands({ doing: 'computing', lease: id, finished: null });
    next();
  }

  function receive(effect: Effect): void {
    switch (effect.type) {
      case 'seed':
        return fetchModel(null);
      case 'transfer':
        return fetchModel(effect.donor);
      case 'start':
        if (activity !== 'outside') fail(`told to start while ${activity}`);
        stands({ doing: 'computing' });
        return next();
      case 'lease':
        return takeLease(effect);
      case 'formGroup':
        return joinCollective(effect.group);
      case 'abortGroup':
        return giveUp(effect.group, effect.reason);
      case 'release':
        if (activity !== 'ready') fail(`released while ${activity}`);
        reached(effect.k);
        return next();
      case 'askCheckpoint':
        request = { checkpoint: effect.checkpoint, fromK: effect.fromK };
        if (activity === 'asking' || activity === 'finished') answerCheckpoint(true);
        return;
      case 'finish':
        mustFinish = true;
        if (activity === 'asking') next();
        return;
      default:
        fail(`got "${effect.type}", which is not for workers`);
    }
  }

  return {
    receive: (effect) => perform(() => receive(effect)),
    disconnect() {
      connected = false;
      request = null;
      fetches += 1;
      if (collective === null) goOnAlone();
      else giveUp(collective.group.id, 'the connection to the controller is lost');
    },
    reconnect() {
      connected = true;
      return { standing, used: work === null ? 0 : processedOf(work) - round.samples };
    },
    freeze() {
      deferred ??= [];
    },
    thaw() {
      const acts = deferred ?? [];
      deferred = null;
      for (const act of acts) perform(act);
    },
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

function processedOf({ count, samplesLeft }: Work): number {
  return count - samplesLeft;
}
