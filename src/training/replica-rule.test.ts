import { describe, expect, it } from 'vitest';
import { createSgd } from '../engine/optimizer.js';
import { createReplicaRule, type Replica, type ReplicaRule, type ReplicaRuleOptions } from './replica-rule.js';

const LEARNING_RATE = 1;
const GRADIENT = { exchanges: 'gradient', averageOptimizer: false } as const satisfies ReplicaRuleOptions;
const REPLICA = { exchanges: 'replica', averageOptimizer: false } as const satisfies ReplicaRuleOptions;
const WHOLE = { exchanges: 'replica', averageOptimizer: true } as const satisfies ReplicaRuleOptions;

interface Worker {
  readonly replica: Replica;
  readonly rule: ReplicaRule;
}

/** Two parameters, one running statistic, momentum 0.5. */
function createWorker(options: ReplicaRuleOptions, parameters: readonly number[] = [0, 0], statistic = 0): Worker {
  const replica: Replica = {
    parameters: Float32Array.from(parameters),
    auxiliary: Float32Array.of(statistic),
    optimizer: createSgd(2, { momentum: 0.5 }),
    k: 0,
  };
  return { replica, rule: createReplicaRule(replica, options) };
}

interface Step {
  readonly gradient: readonly number[];
  /** What the step's batch made of the running statistic. */
  readonly statistic: number;
}

/** One step of every worker, and the average of those whose vectors are finite. */
function exchange(workers: readonly Worker[], steps: readonly Step[]): void {
  const vectors = workers.map(({ replica, rule }, i) => {
    const { gradient, statistic } = steps[i] as Step;
    replica.auxiliary[0] = statistic;
    const vector = new Float32Array(rule.exchangeLength);
    rule.beforeExchange(Float32Array.from(gradient), LEARNING_RATE, vector);
    return vector;
  });
  const finite = vectors.map((vector) => vector.every(Number.isFinite));
  const counted = finite.includes(true) ? vectors.filter((_, i) => finite[i]) : vectors;
  const average = counted[0]?.map((_, j) => {
    return counted.reduce((sum, vector) => sum + (vector[j] as number), 0) / counted.length;
  }) as Float32Array;
  const k = Math.max(...workers.map(({ replica }) => replica.k));
  workers.forEach(({ rule }, i) => {
    rule.afterExchange({ average, k, finite: finite[i] as boolean }, LEARNING_RATE);
  });
}

function stateOf({ rule }: Worker): number[] {
  const state = new Float32Array(rule.stateLength ?? rule.exchangeLength);
  rule.writeState(state);
  return [...state];
}

function contentOf({ replica }: Worker): { parameters: number[]; statistic: number; velocity: number[]; k: number } {
  const { parameters, auxiliary, optimizer, k } = replica;
  return { parameters: [...parameters], statistic: auxiliary[0] as number, velocity: [...optimizer.state], k };
}

describe('partial reduce', () => {
  it('averages parameters and running statistics, and leaves the velocity where it is', () => {
    const workers = [createWorker(REPLICA), createWorker(REPLICA)];
    exchange(workers, [
      { gradient: [2, 4], statistic: 10 },
      { gradient: [6, 0], statistic: 30 },
    ]);
    const common = { parameters: [-4, -2], statistic: 20, k: 1 };
    expect(workers.map(contentOf)).toEqual([
      { ...common, velocity: [2, 4] },
      { ...common, velocity: [6, 0] },
    ]);
  });

  it('averages the velocity in the same vector where it is asked to', () => {
    const workers = [createWorker(WHOLE), createWorker(WHOLE)];
    exchange(workers, [
      { gradient: [2, 4], statistic: 10 },
      { gradient: [6, 0], statistic: 30 },
    ]);
    const common = { parameters: [-4, -2], statistic: 20, velocity: [4, 2], k: 1 };
    expect(workers.map(contentOf)).toEqual([common, common]);
    expect(workers.map(({ rule }) => rule.exchangeLength)).toEqual([5, 5]);
  });

  it.each([
    ['forgets the velocity that a NaN gradient spoilt', REPLICA, [0, 0]],
    ["takes the group's velocity instead of its own spoilt one", WHOLE, [2, 4]],
  ] as const)('%s', (_, options, velocity) => {
    const workers = [createWorker(options), createWorker(options)];
    exchange(workers, [
      { gradient: [2, 4], statistic: 10 },
      { gradient: [Number.NaN, 0], statistic: Number.NaN },
    ]);
    expect(contentOf(workers[1] as Worker)).toEqual({ parameters: [-2, -4], statistic: 10, velocity, k: 1 });
  });

  it('keeps a velocity while its vectors are finite', () => {
    const workers = [createWorker(REPLICA), createWorker(REPLICA)];
    const step = { gradient: [1, 1], statistic: 0 };
    exchange(workers, [step, step]);
    exchange(workers, [step, step]);
    expect(contentOf(workers[0] as Worker)).toMatchObject({ velocity: [1.5, 1.5], parameters: [-2.5, -2.5] });
  });
});

describe('eager-reduce', () => {
  it('exchanges how far the running statistics moved, so that several steps or none may be in a round', () => {
    const { replica, rule } = createWorker({ ...GRADIENT, addsUp: true }, [0, 0], 10);
    const vector = new Float32Array(rule.exchangeLength);
    replica.auxiliary[0] = 14;
    rule.beforeExchange(Float32Array.of(2, 4), LEARNING_RATE, vector);
    expect([...vector]).toEqual([2, 4, 4]);
    rule.afterExchange({ average: Float32Array.of(1, 2, 3), k: 5, finite: true }, LEARNING_RATE);
    rule.afterExchange({ average: Float32Array.of(0, 0, -1), k: 6, finite: true }, LEARNING_RATE);
    expect(contentOf({ replica, rule })).toEqual({ parameters: [-1.5, -3], statistic: 12, velocity: [0.5, 1], k: 6 });
  });
});

describe('all-reduce', () => {
  it('applies the mean gradient everywhere and averages running statistics beside it', () => {
    const workers = [createWorker(GRADIENT), createWorker(GRADIENT)];
    exchange(workers, [
      { gradient: [2, 4], statistic: 10 },
      { gradient: [6, 0], statistic: 30 },
    ]);
    const common = { parameters: [-4, -2], statistic: 20, velocity: [4, 2], k: 1 };
    expect(workers.map(contentOf)).toEqual([common, common]);
  });

  it('keeps replicas identical after the NaN gradient of one', () => {
    const workers = [createWorker(GRADIENT), createWorker(GRADIENT)];
    const sound = { gradient: [2, 4], statistic: 10 };
    exchange(workers, [sound, sound]);
    exchange(workers, [sound, { gradient: [Number.NaN, 0], statistic: Number.NaN }]);
    exchange(workers, [sound, sound]);
    // Velocity 2, 3, 3.5 in the first place.
    const common = { parameters: [-8.5, -17], statistic: 10, velocity: [3.5, 7], k: 3 };
    expect(workers.map(contentOf)).toEqual([common, common]);
  });

  it('leaves out a round in which no gradient was finite', () => {
    const workers = [createWorker(GRADIENT), createWorker(GRADIENT)];
    const sound = { gradient: [2, 4], statistic: 10 };
    const spoilt = { gradient: [Number.NaN, 0], statistic: Number.NaN };
    exchange(workers, [sound, sound]);
    exchange(workers, [spoilt, spoilt]);
    const common = { parameters: [-2, -4], statistic: 10, velocity: [2, 4], k: 2 };
    expect(workers.map(contentOf)).toEqual([common, common]);
  });

  it('hands joiners the state from before the step that is under way', () => {
    const donor = createWorker(GRADIENT);
    exchange([donor], [{ gradient: [2, 4], statistic: 10 }]);
    donor.replica.auxiliary[0] = 99;
    donor.rule.beforeExchange(Float32Array.of(1, 1), LEARNING_RATE, new Float32Array(3));
    expect(stateOf(donor)).toEqual([-2, -4, 10, 2, 4]);
  });
});

describe('parameter servers', () => {
  const SERVED = { ...GRADIENT, usesServers: true } as const satisfies ReplicaRuleOptions;

  it('push the gradient beside running statistics, and take what comes', () => {
    const worker = createWorker(SERVED, [1, 2], 3);
    const exchanged = new Float32Array(worker.rule.exchangeLength);
    worker.rule.beforeExchange(Float32Array.of(5, 6), LEARNING_RATE, exchanged);
    expect([...exchanged]).toEqual([5, 6, 3]);
    worker.rule.afterExchange({ average: Float32Array.of(7, 8, 9), k: 1, finite: true }, LEARNING_RATE);
    expect(contentOf(worker)).toMatchObject({ parameters: [7, 8], statistic: 9, k: 1, velocity: [0, 0] });
  });

  it('hand joiners what they pulled last', () => {
    const worker = createWorker(SERVED, [1, 2], 3);
    worker.replica.auxiliary[0] = 99;
    expect(stateOf(worker)).toEqual([1, 2, 3]);
    const joiner = createWorker(SERVED);
    joiner.rule.readState(Float32Array.from(stateOf(worker)), 4);
    expect(contentOf(joiner)).toMatchObject({ parameters: [1, 2], statistic: 3, k: 4 });
  });
});

describe.each([
  ['partial reduce', REPLICA],
  ['partial reduce with averaged optimizers', WHOLE],
  ['all-reduce', GRADIENT],
] as const)('%s', (_, options) => {
  it('hands its state to a joiner', () => {
    const donor = createWorker(options);
    exchange([donor], [{ gradient: [2, 4], statistic: 10 }]);
    const joiner = createWorker(options, [7, 8], 9);
    joiner.rule.readState(Float32Array.from(stateOf(donor)), 1);
    const { velocity, ...replica } = contentOf(donor);
    expect(contentOf(joiner)).toEqual({ ...replica, velocity: options === REPLICA ? [0, 0] : velocity });
  });

  it('begins the state with the replica, which the final average replaces', () => {
    const worker = createWorker(options, [1, 2], 3);
    const exchanged = new Float32Array(worker.rule.exchangeLength);
    worker.rule.writeReplica(exchanged);
    expect([...exchanged.subarray(0, 3)]).toEqual([1, 2, 3]);
    expect(stateOf(worker).slice(0, exchanged.length)).toEqual([...exchanged]);
    worker.rule.readReplica(exchanged.map((value) => value + 1));
    expect(contentOf(worker)).toMatchObject({ parameters: [2, 3], statistic: 4 });
  });
});
