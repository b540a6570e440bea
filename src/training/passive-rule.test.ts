import { describe, expect, it } from 'vitest';
import { createSgd } from '../engine/optimizer.js';
import { createPublishingRule, writeHandover } from './passive-rule.js';
import { createReplicaRule, type Replica, type ReplicaRuleOptions } from './replica-rule.js';

function open(options: ReplicaRuleOptions) {
  const replica: Replica = {
    parameters: Float32Array.of(8, 8),
    auxiliary: Float32Array.of(1),
    optimizer: createSgd(2, { momentum: 0.5 }),
    k: 4,
  };
  return { replica, rule: createReplicaRule(replica, options) };
}

describe('writeHandover', () => {
  it('writes gradients and moves of statistics; of a gradient that is not finite nothing', () => {
    const { replica, rule } = open({ exchanges: 'gradient', averageOptimizer: false, addsUp: true });
    const handover = new Float32Array(3);
    replica.auxiliary[0] = 1.5;
    expect(writeHandover(rule, Float32Array.of(2, -1), handover)).toBe(true);
    expect([...handover]).toEqual([2, -1, 0.5]);
    expect(replica.k).toBe(5);
    expect(writeHandover(rule, Float32Array.of(2, Number.NaN), handover)).toBe(false);
    expect([...handover]).toEqual([0, 0, 0]);
    expect(replica.k).toBe(6);
  });
});

describe('createPublishingRule', () => {
  const averaged = () => ({ values: Float32Array.of(4, 6, 2), k: 9 });

  // By hand, rate 0.5: 4 - 0.5 x 2, 6 - 0.5 x -1; the batch moved the statistic by 0.25.
  it('applies the step to what averages have left', () => {
    const { replica, rule } = open({ exchanges: 'replica', averageOptimizer: false });
    const publishing = createPublishingRule(replica, rule);
    replica.auxiliary[0] = 1.25;
    const published = averaged();
    const step = { published, learningRate: 0.5, into: published.values };
    expect(publishing.apply(Float32Array.of(2, -1), step)).toBe(true);
    expect([...published.values]).toEqual([3, 6.5, 2.25]);
    expect([...replica.parameters, ...replica.auxiliary, replica.k]).toEqual([3, 6.5, 2.25, 10]);
    // The next batch moves from there; momentum 0.5 of the step before.
    replica.auxiliary[0] = 2.5;
    publishing.apply(Float32Array.of(0, 0), { ...step, published: averaged() });
    expect([...published.values]).toEqual([4 - 0.5 * 1, 6 + 0.5 * 0.5, 2.25]);
  });

  it('leaves out a gradient that is not finite, and forgets what the optimizer knew', () => {
    const { replica, rule } = open({ exchanges: 'replica', averageOptimizer: false });
    const publishing = createPublishingRule(replica, rule);
    const into = new Float32Array(3);
    publishing.apply(Float32Array.of(1, 1), { published: averaged(), learningRate: 0.5, into });
    expect(publishing.apply(Float32Array.of(Number.NaN, 1), { published: averaged(), learningRate: 0.5, into })).toBe(
      true,
    );
    expect([...into, replica.k]).toEqual([4, 6, 2, 10]);
    expect([...replica.optimizer.state].every((value) => value === 0)).toBe(true);
  });

  it('says when what is published is not finite', () => {
    const { replica, rule } = open({ exchanges: 'replica', averageOptimizer: false });
    const published = { values: Float32Array.of(4, Number.NaN, 2), k: 9 };
    const step = { published, learningRate: 0.5, into: new Float32Array(3) };
    expect(createPublishingRule(replica, rule).apply(Float32Array.of(1, 1), step)).toBe(false);
  });

  it('takes the newest, statistics too', () => {
    const { replica, rule } = open({ exchanges: 'replica', averageOptimizer: false });
    const publishing = createPublishingRule(replica, rule);
    publishing.takeNewest(averaged());
    expect([...replica.parameters, ...replica.auxiliary, replica.k]).toEqual([4, 6, 2, 9]);
    const into = new Float32Array(3);
    publishing.apply(Float32Array.of(0, 0), { published: averaged(), learningRate: 1, into });
    expect([...into]).toEqual([4, 6, 2]);
  });
});
