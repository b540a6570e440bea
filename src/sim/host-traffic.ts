/**
 * What a collective moves into each host, out of it and within it, where several members sit on one host. Sums over the steps of
 * the plans, in closed form: a plan among n members has n - 1 transfers of each, and this costs n.
 */
import type { PlanName } from '../collective/plan/plan.js';
import { partBytes, splitParts } from '../collective/plan/parts.js';

/** Bytes over all rounds. */
export interface HostTraffic {
  out: number;
  in: number;
  within: number;
}

/** By host; `hosts` are those of the members, by rank, `length` is that of the vector in values. */
export function hostTraffic(
  plan: PlanName,
  hosts: readonly number[],
  length: number,
): ReadonlyMap<number, HostTraffic> {
  const traffic = new Map<number, HostTraffic>(hosts.map((host) => [host, { out: 0, in: 0, within: 0 }]));
  const parts = splitParts(length, hosts.length);
  const bytes = parts.map((_, rank) => partBytes(parts, rank));
  if (hosts.length > 1) ADD[plan]((host) => traffic.get(host) as HostTraffic, hosts, bytes);
  return traffic;
}

type TrafficOf = (host: number) => HostTraffic;

const ADD = { direct: addDirect, ring: addRing } as const satisfies Record<
  PlanName,
  (of: TrafficOf, hosts: readonly number[], bytes: readonly number[]) => void
>;

/** Each member sends each other one that one's part, and later its own. */
function addDirect(of: TrafficOf, hosts: readonly number[], bytes: readonly number[]): void {
  const total = bytes.reduce((sum, part) => sum + part, 0);
  const own = new Map<number, { members: number; bytes: number }>();
  hosts.forEach((host, rank) => {
    const { members, bytes: before } = own.get(host) ?? { members: 0, bytes: 0 };
    own.set(host, { members: members + 1, bytes: before + (bytes[rank] as number) });
  });
  for (const [host, { members, bytes: local }] of own) {
    const crossing = members * (total - local) + (hosts.length - members) * local;
    const traffic = of(host);
    traffic.out += crossing;
    traffic.in += crossing;
    traffic.within += 2 * (members - 1) * local;
  }
}

/** Each member sends the next one every part but its own, and later every part but the next one's. */
function addRing(of: TrafficOf, hosts: readonly number[], bytes: readonly number[]): void {
  const total = bytes.reduce((sum, part) => sum + part, 0);
  hosts.forEach((host, rank) => {
    const next = (rank + 1) % hosts.length;
    const sent = 2 * total - (bytes[rank] as number) - (bytes[next] as number);
    const nextHost = hosts[next] as number;
    if (nextHost === host) of(host).within += sent;
    else {
      of(host).out += sent;
      of(nextHost).in += sent;
    }
  });
}
