import { describe, expect, it } from 'vitest';
import type { PlanName } from '../collective/plan/plan.js';
import { planCollective } from '../collective/plan/plans.js';
import { hostTraffic } from './host-traffic.js';
import { createNetworkModel, type NetworkOptions } from './network-model.js';
import { createTraffic } from './traffic.js';

const PLANS = ['direct', 'ring'] as const satisfies readonly PlanName[];

/** 4 MB, of which a link moves 125 kB in a millisecond. */
const GIGABIT: NetworkOptions = { latencyMs: 0.5, controlLatencyMs: 0.1, bitsPerSecond: 1e9, modelBytes: 4e6 };

describe('hostTraffic', () => {
  it.each(PLANS)('is what the members send each other by the plan %s', (plan) => {
    const hosts = [0, 0, 1, 2, 1];
    const length = 23;
    const traffic = hostTraffic(plan, hosts, length);
    const expected = new Map(hosts.map((host) => [host, { out: 0, in: 0, within: 0 }]));
    hosts.forEach((host, rank) => {
      for (const step of planCollective(plan, rank, hosts.length, length).rounds.flat()) {
        if (step.kind !== 'send') continue;
        const peer = hosts[step.peer] as number;
        const [own, other] = [expected.get(host), expected.get(peer)];
        if (own === undefined || other === undefined) continue;
        if (peer === host) own.within += step.bytes;
        else {
          own.out += step.bytes;
          other.in += step.bytes;
        }
      }
    });
    expect(traffic).toEqual(expected);
    expect(expected.get(0)?.within).toBeGreaterThan(0);
  });

  it.each(PLANS)('of a member alone is nothing, by the plan %s', (plan) => {
    expect(hostTraffic(plan, [3], 10)).toEqual(new Map([[3, { out: 0, in: 0, within: 0 }]]));
  });
});

describe('createTraffic', () => {
  const PAIRS: NetworkOptions = { ...GIGABIT, workersPerHost: 2 };

  it.each(PLANS)('takes what the plan %s is priced at where nobody shares a link', (plan) => {
    const network = createNetworkModel(GIGABIT);
    const { endMs } = createTraffic(network).reduce(plan, [4, 1, 2], 10);
    expect(endMs).toBe(10 + network.priceOf(plan, 3).durationMs);
  });

  // By hand: each of two members sends one of two rounds' three quarters within its host and two out: 2 x 2 x 2 MB a host.
  it('makes the members on one host share its link', () => {
    const { endMs } = createTraffic(createNetworkModel(PAIRS)).reduce('direct', [0, 1, 2, 3], 10);
    expect(endMs).toBeCloseTo(10 + 64 + 2 * 0.5, 9);
  });

  // By hand: two halves in two rounds, 4 MB each way: 32 ms of the host's link. Within a host nothing crosses it.
  it('lets a group wait for those that use its link already, and none that stays on a host', () => {
    const traffic = createTraffic(createNetworkModel(PAIRS));
    expect(traffic.reduce('direct', [0, 2], 0).endMs).toBeCloseTo(32 + 1, 9);
    expect(traffic.reduce('direct', [1, 4], 0).endMs).toBeCloseTo(64 + 1, 9);
    expect(traffic.reduce('direct', [6, 7], 0).endMs).toBeCloseTo(1, 9);
    expect(traffic.reduce('direct', [0, 2], 100).endMs).toBeCloseTo(133, 9);
  });

  it('moves what stays on a host at the rate of the host', () => {
    const traffic = createTraffic(createNetworkModel({ ...PAIRS, hostBitsPerSecond: 4e9 }));
    // Two members, 4 MB each, at 500 kB/ms.
    expect(traffic.reduce('direct', [0, 1], 0).endMs).toBeCloseTo(16 + 1, 9);
  });

  it('takes pushes in the order in which they come, and pulls after the update', () => {
    const traffic = createTraffic(createNetworkModel({ ...GIGABIT, servers: 1 }));
    expect(traffic.pushAndPull([0], 0).endMs).toBeCloseTo(2 * (32 + 0.5), 9);
    expect(traffic.pushAndPull([1], 0).endMs).toBeCloseTo(64 + 0.5 + 32 + 0.5, 9);
    // The one before has been pulled at 97 ms.
    expect(traffic.pushAndPull([0], 70).endMs).toBeCloseTo(70 + 2 * (32 + 0.5), 9);
    expect(traffic.pushAndPull([0, 1], 300).bytesSent(1)).toBe(4e6);
  });
});
