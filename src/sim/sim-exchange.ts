/**
 * What a simulated worker does with each gradient, and when it may compute the next: the three ways of training/step-exchange.ts
 * and worker/passive-part.ts, over the same pure rules, but told when things happen instead of waiting for them.
 */
import { isFiniteVector } from '../base/finite.js';
import { createSendBuffer, MISSED_ROUNDS_MAX } from '../collective/kernel/send-buffer.js';
import { createPublishingRule, writeHandover } from '../training/passive-rule.js';
import type { Replica, ReplicaRule } from '../training/replica-rule.js';

/** What READY says. */
export interface Ready {
  readonly k: number;
  readonly finite: boolean;
  /** It waits for no group: its next round begins now. */
  readonly goesOn: boolean;
}

export interface SimExchange {
  /** As others see it: what is evaluated, and what the final average takes. */
  readonly replica: Float32Array;
  /** What the worker brings to the collective that goes on. */
  readonly exchanged: Float32Array;
  /** A collective has the replica: neither `ready` nor `rest` before it is over. */
  readonly isHeld: boolean;
  take(gradient: Float32Array): void;
  /** All gradients of the round are taken. */
  ready(): Ready;
  /** A collective begins. False: no room is left for its result; it has to wait for the next `ready` or `rest`. */
  begin(): boolean;
  /** Its result, kept by the caller unchanged; k to go on from. Gives whether the worker, which waited, goes on. */
  commit(average: Float32Array, k: number): boolean;
  /** It takes no further step. */
  rest(): void;
  /** Writes the replica into `exchanged`, for the final average. */
  offerReplica(): void;
  takeFinal(average: Float32Array): void;
}

export interface SimExchangeParts {
  readonly replica: Replica;
  readonly rule: ReplicaRule;
  readonly learningRate: number;
}

/** Sends READY and waits for the group. */
export function createWaitingExchange({ replica, rule, learningRate }: SimExchangeParts): SimExchange {
  const exchanged = new Float32Array(rule.exchangeLength);
  let finite = true;
  return {
    replica: replica.parameters,
    exchanged,
    isHeld: false,
    take: (gradient) => rule.beforeExchange(gradient, learningRate, exchanged),
    ready() {
      finite = isFiniteVector(exchanged);
      return { k: replica.k, finite, goesOn: false };
    },
    begin: () => true,
    commit(average, k) {
      rule.afterExchange({ average, k, finite }, learningRate);
      return true;
    },
    rest() {},
    offerReplica: () => rule.writeReplica(exchanged),
    takeFinal: rule.readReplica,
  };
}

interface Round {
  readonly sum: Float32Array;
  readonly k: number;
}

/** Eager-reduce: hands its gradients over, and waits only where no round has come since its replica's. */
export function createRoundExchange({ replica, rule, learningRate }: SimExchangeParts): SimExchange {
  const exchanged = new Float32Array(rule.exchangeLength);
  const handover = new Float32Array(rule.exchangeLength);
  const buffer = createSendBuffer(rule.exchangeLength);
  const missed: Round[] = [];
  let appliedK = replica.k;
  let finite = true;
  /** Until a round of this k, or later, is applied it waits; null: it does not. */
  let awaitedK: number | null = null;
  let isResting = false;

  function applyMissed(): void {
    for (const { sum, k } of missed) rule.afterExchange({ average: sum, k, finite: true }, learningRate);
    appliedK = missed.at(-1)?.k ?? appliedK;
    missed.length = 0;
  }

  return {
    replica: replica.parameters,
    exchanged,
    isHeld: false,
    take(gradient) {
      finite = writeHandover(rule, gradient, handover);
    },
    ready() {
      const { k } = replica;
      buffer.add(handover);
      applyMissed();
      awaitedK = appliedK < k ? k : null;
      return { k, finite, goesOn: awaitedK === null };
    },
    begin() {
      if (missed.length >= MISSED_ROUNDS_MAX) return false;
      buffer.takeInto(exchanged);
      return true;
    },
    commit(sum, k) {
      missed.push({ sum, k });
      if (awaitedK === null && !isResting) return false;
      applyMissed();
      if (awaitedK === null || appliedK < awaitedK) return false;
      awaitedK = null;
      return true;
    },
    rest() {
      isResting = true;
      applyMissed();
    },
    offerReplica: () => rule.writeReplica(exchanged),
    takeFinal: rule.readReplica,
  };
}

/** AD-PSGD, odd workers: applies each gradient to the replica as averages have left it, and waits for nobody. */
export function createPublishingExchange({ replica, rule, learningRate }: SimExchangeParts): SimExchange {
  const publishing = createPublishingRule(replica, rule);
  const published = new Float32Array(rule.exchangeLength);
  rule.writeReplica(published);
  let gradient: Float32Array = new Float32Array(0);
  let k = replica.k;
  let isHeld = false;
  return {
    replica: published,
    exchanged: published,
    get isHeld() {
      return isHeld;
    },
    take(values) {
      gradient = values;
    },
    ready() {
      const finite = publishing.apply(gradient, { published: { values: published, k }, learningRate, into: published });
      ({ k } = replica);
      return { k, finite, goesOn: true };
    },
    begin() {
      isHeld = true;
      return true;
    },
    commit(average, kMax) {
      published.set(average);
      k = Math.max(k, kMax);
      isHeld = false;
      return false;
    },
    rest: () => publishing.takeNewest({ values: published, k }),
    // It lies there.
    offerReplica() {},
    takeFinal: (average) => published.set(average),
  };
}
