import { describe, expect, it } from 'vitest';
import { MISSED_ROUNDS_MAX } from '../collective/kernel/send-buffer.js';
import { createSgd } from '../engine/optimizer.js';
import { createReplicaRule, type Replica, type ReplicaRuleOptions } from '../training/replica-rule.js';
import {
  createPublishingExchange,
  createRoundExchange,
  createWaitingExchange,
  type SimExchange,
  type SimExchangeParts,
} from './sim-exchange.js';

/** One parameter, 8 at first, learning rate 0.5. */
function parts(options: Omit<ReplicaRuleOptions, 'averageOptimizer'>): SimExchangeParts {
  const replica: Replica = {
    parameters: Float32Array.of(8),
    auxiliary: new Float32Array(0),
    optimizer: createSgd(1, { momentum: 0 }),
    k: 0,
  };
  return { replica, rule: createReplicaRule(replica, { ...options, averageOptimizer: false }), learningRate: 0.5 };
}

function step(exchange: SimExchange, gradient: number) {
  exchange.take(Float32Array.of(gradient));
  return exchange.ready();
}

describe('createWaitingExchange', () => {
  it('waits for its group, and goes on from the average', () => {
    const exchange = createWaitingExchange(parts({ exchanges: 'replica' }));
    expect(step(exchange, 2)).toEqual({ k: 1, finite: true, goesOn: false });
    expect([...exchange.exchanged]).toEqual([7]);
    expect(exchange.commit(Float32Array.of(5), 3)).toBe(true);
    expect([...exchange.replica]).toEqual([5]);
    expect(step(exchange, 0).k).toBe(4);
  });
});

describe('createRoundExchange', () => {
  const open = () => createRoundExchange(parts({ exchanges: 'gradient', addsUp: true }));

  it('waits for the first round after its gradient, and gives what has added up', () => {
    const exchange = open();
    expect(step(exchange, 2)).toEqual({ k: 1, finite: true, goesOn: false });
    expect(exchange.begin()).toBe(true);
    expect([...exchange.exchanged]).toEqual([2]);
    expect(exchange.commit(Float32Array.of(4), 1)).toBe(true);
    expect([...exchange.replica]).toEqual([6]);
  });

  it('goes on where rounds have come meanwhile, all of them applied', () => {
    const exchange = open();
    for (const k of [1, 2]) {
      exchange.begin();
      // It computes, and its replica stays what it was.
      expect(exchange.commit(Float32Array.of(k), k)).toBe(false);
    }
    expect([...exchange.replica]).toEqual([8]);
    expect(step(exchange, 3)).toEqual({ k: 1, finite: true, goesOn: true });
    expect([...exchange.replica]).toEqual([8 - 0.5 * 1 - 0.5 * 2]);
    expect(step(exchange, 1)).toEqual({ k: 3, finite: true, goesOn: false });
    exchange.begin();
    expect([...exchange.exchanged]).toEqual([4]);
  });

  it('has no room for a result when it is too far behind, until it applies what it has', () => {
    const exchange = open();
    for (let k = 1; k <= MISSED_ROUNDS_MAX; k += 1) {
      expect(exchange.begin()).toBe(true);
      exchange.commit(Float32Array.of(0), k);
    }
    expect(exchange.begin()).toBe(false);
    step(exchange, 1);
    expect(exchange.begin()).toBe(true);
  });

  it('applies rounds as they come while it rests', () => {
    const exchange = open();
    exchange.begin();
    exchange.commit(Float32Array.of(2), 1);
    exchange.rest();
    expect([...exchange.replica]).toEqual([7]);
    exchange.begin();
    expect(exchange.commit(Float32Array.of(2), 2)).toBe(false);
    expect([...exchange.replica]).toEqual([6]);
  });

  it('adds nothing for a gradient that is not finite', () => {
    const exchange = open();
    step(exchange, 2);
    expect(step(exchange, Number.NaN).finite).toBe(false);
    exchange.begin();
    expect([...exchange.exchanged]).toEqual([2]);
  });
});

describe('createPublishingExchange', () => {
  it('applies its gradient to what averages have left, and waits for nobody', () => {
    const exchange = createPublishingExchange(parts({ exchanges: 'replica' }));
    exchange.begin();
    expect(exchange.isHeld).toBe(true);
    expect(exchange.commit(Float32Array.of(4), 5)).toBe(false);
    expect(exchange.isHeld).toBe(false);
    expect(step(exchange, 2)).toEqual({ k: 6, finite: true, goesOn: true });
    expect([...exchange.replica]).toEqual([3]);
    expect(exchange.exchanged).toBe(exchange.replica);
    exchange.begin();
    // An average that is older by k does not set it back.
    exchange.commit(Float32Array.of(1), 2);
    expect(step(exchange, 0).k).toBe(7);
    exchange.takeFinal(Float32Array.of(9));
    expect([...exchange.replica]).toEqual([9]);
  });
});
