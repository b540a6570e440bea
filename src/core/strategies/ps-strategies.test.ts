/**
 * Each strategy with servers against plain arithmetic on a fixed order of arrivals, and on a noisy quadratic: the real
 * controller forms the groups, a real server shard applies them.
 */
import { describe, expect, it } from 'vitest';
import { ScriptedRun, startedRun } from '../../../test/scenarios/scripted-run.js';
import { createRandom } from '../../base/random.js';
import type { GroupId } from '../../base/ids.js';
import { createServerShard, type ServerShard } from '../../training/server-shard.js';
import type { CoreConfig, ServerStrategyName } from '../config.js';

const LEARNING_RATE = 0.1;
const SGD = { optimizer: 'sgd', momentum: 0, nesterov: false, weightDecay: 0 } as const;

/** A controller, one server with the parameter x, and workers whose gradients are told in numbers. */
class ServedRun {
  readonly run: ScriptedRun;
  readonly shard: ServerShard;
  /** What each worker has pulled. */
  readonly pulled: number[];
  private readonly gradients: number[] = [];
  private applied = 0;

  constructor(count: number, config: Partial<CoreConfig>, start = 1) {
    this.run = new ScriptedRun({ minWorkers: count, ...config });
    for (let worker = 0; worker < count; worker += 1) this.run.join();
    for (let worker = 0; worker < count; worker += 1) this.run.synced(worker);
    this.run.step({ type: 'serversReady' });
    this.shard = createServerShard({ values: Float32Array.of(start), parameterCount: 1, optimizer: SGD });
    this.pulled = Array.from({ length: count }, () => start);
  }

  get x(): number {
    return this.shard.values[0] as number;
  }

  /** READY with this gradient; what is formed then is applied, and its members are done. */
  push(worker: number, gradient: number): this {
    this.gradients[worker] = gradient;
    this.run.ready(worker);
    this.serve();
    return this;
  }

  private serve(): void {
    for (; this.applied < this.run.groups.length; this.applied += 1) {
      const group = this.run.groups[this.applied];
      if (group === undefined) return;
      const weights = group.members.map(({ weight }) => weight);
      const sum = group.members.reduce(
        (total, { worker, weight }) => total + weight * (this.gradients[worker] ?? 0),
        0,
      );
      const values = Float32Array.of(sum);
      this.shard.push(values, { group: group.id, weights, learningRate: LEARNING_RATE });
      for (const { worker } of group.members) {
        this.pulled[worker] = values[0] as number;
        this.run.step({ type: 'done', ...this.run.life(worker), group: group.id });
      }
    }
  }

  isWaiting(worker: number): boolean {
    return this.run.view(worker).state === 'queued';
  }
}

type Arrival = readonly [worker: number, gradient: number];

/** x after the updates, each of them `weight * sum of gradients`. */
function afterUpdates(updates: readonly (readonly [weight: number, gradients: readonly number[]])[]): number {
  let x = 1;
  for (const [weight, gradients] of updates) x -= LEARNING_RATE * weight * gradients.reduce((sum, g) => sum + g, 0);
  return x;
}

describe('a fixed order of arrivals', () => {
  const arrivals: readonly Arrival[] = [
    [0, 1],
    [1, 2],
    [0, 3],
    [2, 5],
    [1, -4],
    [2, 7],
  ];

  it.each<[ServerStrategyName, readonly (readonly [number, readonly number[]])[]]>([
    ['ps-asp', arrivals.map(([, g]) => [1 / 3, [g]] as const)],
    ['ps-ssp', arrivals.map(([, g]) => [1 / 3, [g]] as const)],
    // d: 1; 2, as worker 0's came between; 2, as worker 1's did; 4, as it never pulled; 3; 2.
    [
      'ps-hete',
      [
        [1, [1]],
        [1 / 2, [2]],
        [1 / 2, [3]],
        [1 / 4, [5]],
        [1 / 3, [-4]],
        [1 / 2, [7]],
      ],
    ],
    // Rounds of two: {0, 1}; then 0 waits, 2 is late and only pulls, and 1 ends the second round. 2's last waits alone.
    [
      'ps-backup',
      [
        [1 / 2, [1, 2]],
        [1 / 2, [3, -4]],
      ],
    ],
  ])('%s gives what plain arithmetic gives', (strategy, updates) => {
    const served = new ServedRun(3, { strategy });
    for (const [worker, gradient] of arrivals) served.push(worker, gradient);
    expect(served.x).toBeCloseTo(afterUpdates(updates), 6);
  });

  it('ps-bsp waits for all, and applies their mean', () => {
    const served = new ServedRun(3, { strategy: 'ps-bsp' });
    served.push(1, 1).push(0, 2);
    expect(served.x).toBe(1);
    expect(served.run.view(1).waitReason).toMatch(/^waiting 2\/3: worker 2 computing/);
    served.push(2, 6);
    expect(served.x).toBeCloseTo(afterUpdates([[1 / 3, [1, 2, 6]]]), 6);
    expect(served.pulled).toEqual([served.x, served.x, served.x]);
  });

  it('ps-backup lets a late worker pull without its gradient', () => {
    const served = new ServedRun(3, { strategy: 'ps-backup' });
    served.push(0, 1).push(1, 2);
    expect(served.pulled[2]).toBe(1);
    const { x } = served;
    served.push(2, 100);
    expect(served.x).toBe(x);
    expect(served.pulled[2]).toBe(x);
    expect(served.run.groups.at(-1)?.members.map(({ weight }) => weight)).toEqual([0]);
  });
});

describe('ps-ssp', () => {
  it.each([0, 1, 3])('with s = %i lets nobody be further ahead', (staleness) => {
    const served = new ServedRun(2, { strategy: 'ps-ssp', staleness });
    for (let step = 0; step <= staleness; step += 1) {
      expect(served.isWaiting(0)).toBe(false);
      served.push(0, 1);
    }
    expect(served.isWaiting(0)).toBe(true);
    expect(served.run.view(0).waitReason).toContain(`${staleness} iterations ahead of worker 1`);
    const { x } = served;
    served.push(1, 1);
    expect(served.isWaiting(0)).toBe(false);
    expect(served.x).toBeLessThan(x);
  });

  it('does not wait for one that is dead', () => {
    const served = new ServedRun(2, { strategy: 'ps-ssp', staleness: 0 });
    served.push(0, 1);
    expect(served.isWaiting(0)).toBe(true);
    served.run.lost(1);
    expect(served.run.groups).toHaveLength(1);
  });
});

describe('what nobody can do without servers', () => {
  it('workers wait for the servers, and are told so', () => {
    const run = new ScriptedRun({ minWorkers: 1, strategy: 'ps-asp', servers: 2 }).join().synced(0);
    expect(run.run.started).toBe(false);
    expect(run.view(0).waitReason).toBe('waiting for 2 parameter servers');
    expect(run.step({ type: 'serversReady' }).of('start')).toHaveLength(1);
  });

  it('the run ends without a model when one is lost', () => {
    const { run } = new ServedRun(2, { strategy: 'ps-asp' });
    run.step({ type: 'serverLost', reason: 'server 0 is gone: its connection closed' });
    expect(run.of('runEnded')).toMatchObject([{ reason: 'server 0 is gone: its connection closed', holders: [] }]);
  });

  it('other strategies start without', () => {
    expect(startedRun(2).run.started).toBe(true);
  });
});

describe('gradients that are not finite', () => {
  it.each<[ServerStrategyName, readonly number[]]>([
    ['ps-asp', [0]],
    ['ps-hete', [0]],
    ['ps-bsp', [0, 1]],
  ])('%s gives them no weight', (strategy, weights) => {
    const { run } = new ServedRun(2, { strategy });
    run.ready(0, 1, false);
    if (run.groups.length === 0) run.ready(1);
    expect(run.groups[0]?.members.map(({ weight }) => weight)).toEqual(weights);
  });
});

describe('a member that dies in a round', () => {
  it('leaves the others in the same round, for the gradient to be applied once', () => {
    const { run } = new ServedRun(3, { strategy: 'ps-bsp' });
    run.ready(0).ready(1).ready(2);
    run.lost(2).aborted(0).aborted(1);
    expect(run.groups[1]?.members.map(({ worker, weight }) => [worker, weight])).toEqual([
      [0, 1 / 2],
      [1, 1 / 2],
    ]);
  });

  it('lets what another member holds stand: gradients that it contains are not applied again', () => {
    const { run } = new ServedRun(3, { strategy: 'ps-bsp' });
    run.ready(0).ready(1).ready(2).done(0);
    run.lost(2);
    expect(run.of('abortGroup')).toMatchObject([{ committed: [0] }]);
    run.aborted(1);
    expect(run.groups[1]?.members).toMatchObject([{ worker: 1, weight: 0 }]);
  });

  it('does not count as an update that ps-hete would divide by', () => {
    const { run } = new ServedRun(2, { strategy: 'ps-hete' });
    run.ready(0).lost(0);
    run.ready(1);
    expect(run.groups[1]?.members).toMatchObject([{ worker: 1, weight: 1 }]);
  });
});

describe('a noisy quadratic', () => {
  const OPTIMUM = 3;

  it.each<[ServerStrategyName, Partial<CoreConfig>]>([
    ['ps-bsp', {}],
    ['ps-asp', {}],
    ['ps-ssp', { staleness: 1 }],
    ['ps-backup', { backups: 2 }],
    ['ps-hete', {}],
  ])('%s reaches its optimum, however unequal the workers are', (strategy, config) => {
    const random = createRandom(7);
    const served = new ServedRun(4, { strategy, ...config }, -5);
    let sum = 0;
    let counted = 0;
    for (let turn = 0; turn < 3000; turn += 1) {
      // Worker 0 comes eight times as often as worker 3.
      const worker = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3][Math.floor(random.next() * 15)] ?? 0;
      if (served.isWaiting(worker)) continue;
      served.push(worker, (served.pulled[worker] as number) - OPTIMUM + (random.next() - 0.5));
      if (turn < 1000) continue;
      sum += served.x;
      counted += 1;
    }
    expect(sum / counted).toBeCloseTo(OPTIMUM, 1);
  });
});

describe('a server shard', () => {
  const group = (sequence: number): GroupId => sequence as GroupId;

  it('takes back the last update, with its momentum, and no other', () => {
    const make = (): ServerShard =>
      createServerShard({ values: Float32Array.of(1, 2), parameterCount: 2, optimizer: { ...SGD, momentum: 0.5 } });
    const [shard, reference] = [make(), make()];
    const push = (of: ServerShard, id: number, g: number): void =>
      of.push(Float32Array.of(g, -g), { group: group(id), weights: [1], learningRate: 0.1 });
    push(shard, 1, 1);
    push(shard, 2, 100);
    expect(shard.undo(group(1))).toBe(false);
    expect(shard.undo(group(2))).toBe(true);
    expect(shard.undo(group(2))).toBe(false);
    push(shard, 3, 2);
    push(reference, 1, 1);
    push(reference, 3, 2);
    expect(shard.values).toEqual(reference.values);
  });

  it.each([
    ['no weight', [0], 5],
    ['a sum that is not finite', [1], Number.NaN],
  ])('stays as it is with %s, and says what it holds', (_, weights, g) => {
    const shard = createServerShard({ values: Float32Array.of(1), parameterCount: 1, optimizer: SGD });
    const sum = Float32Array.of(g);
    shard.push(sum, { group: group(1), weights, learningRate: 0.1 });
    expect([shard.values[0], sum[0]]).toEqual([1, 1]);
  });

  it('decays by the weights, and moves running statistics by them', () => {
    const optimizer = { ...SGD, weightDecay: 0.5 };
    const shard = createServerShard({ values: Float32Array.of(2, 8), parameterCount: 1, optimizer });
    const sum = Float32Array.of(0.25 * 4, 0.25 * 16);
    shard.push(sum, { group: group(1), weights: [0.25], learningRate: 0.1 });
    expect(sum[0]).toBeCloseTo(2 - 0.1 * (1 + 0.25 * 0.5 * 2), 6);
    expect(sum[1]).toBeCloseTo(0.75 * 8 + 4, 6);
  });
});
