/**
 * What a worker that computes while its comm thread takes part in groups does with a gradient (algorithms.md 6): eager-reduce hands
 * it over, an odd worker of AD-PSGD applies it to the replica as averages have left it. Real and simulated workers share this.
 */
import { isFiniteVector } from '../base/finite.js';
import type { Replica, ReplicaRule } from './replica-rule.js';

/** Eager-reduce: writes what the gradient adds to the next round. Gives whether it is finite; if not, it adds nothing. */
export function writeHandover(rule: ReplicaRule, gradient: Float32Array, handover: Float32Array): boolean {
  // The rate is that of the round which applies it.
  rule.beforeExchange(gradient, 0, handover);
  const finite = isFiniteVector(handover);
  // It must not spoil what has added up.
  if (!finite) handover.fill(0);
  return finite;
}

/** A replica as averages have left it. */
export interface Published {
  readonly values: Float32Array;
  readonly k: number;
}

export interface PublishingRule {
  /** The replica becomes the published one. */
  takeNewest(published: Published): void;
  /** Applies a gradient, taken at an older replica, to the published one and writes what is published next. Gives whether that is finite. */
  apply(gradient: Float32Array, step: PublishedStep): boolean;
}

export interface PublishedStep {
  readonly published: Published;
  readonly learningRate: number;
  /** May be the published values. */
  readonly into: Float32Array;
}

/** AD-PSGD, odd workers. */
export function createPublishingRule(replica: Replica, rule: ReplicaRule): PublishingRule {
  const { auxiliary, optimizer } = replica;
  /** Running statistics before the gradient's batch moved them. */
  const before = auxiliary.slice();

  function take({ values, k }: Published): void {
    rule.readReplica(values);
    replica.k = k;
  }

  return {
    takeNewest(published) {
      take(published);
      before.set(auxiliary);
    },
    apply(gradient, { published, learningRate, into }) {
      const moved = auxiliary.map((value, i) => value - (before[i] as number));
      take(published);
      if (isFiniteVector(moved)) moved.forEach((value, i) => (auxiliary[i] = (auxiliary[i] as number) + value));
      if (isFiniteVector(gradient)) rule.beforeExchange(gradient, learningRate, into);
      else {
        // Of a replica that an average has replaced by now: it is left out.
        replica.k += 1;
        optimizer.reset();
        rule.writeReplica(into);
      }
      before.set(auxiliary);
      return isFiniteVector(into);
    },
  };
}
