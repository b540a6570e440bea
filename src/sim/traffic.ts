/**
 * The links of one simulated run while it goes on. Where nobody shares one a collective takes what network-model.ts says. Those of
 * servers, and of hosts with several workers, serve the collectives that use them in the order in which they began (links.ts).
 */
import { serverPart } from '../collective/plan/server.js';
import type { PlanName } from '../collective/plan/plan.js';
import { hostTraffic } from './host-traffic.js';
import { createLink, type Link } from './links.js';
import { type NetworkModel, type NetworkOptions, vectorLength } from './network-model.js';

/** A collective that has begun. */
export interface Transfer {
  readonly endMs: number;
  /** Bytes that the member at `rank` sends. */
  bytesSent(rank: number): number;
}

export interface Traffic {
  /** A collective among these workers, by rank, begins. Costs their number at most. */
  reduce(plan: PlanName, workers: readonly number[], nowMs: number): Transfer;
  /** These workers push to all servers, and pull what comes of it; groups begin in the order in which servers apply them. */
  pushAndPull(workers: readonly number[], nowMs: number): Transfer;
}

interface Host {
  readonly up: Link;
  readonly down: Link;
  readonly within: Link;
}

/** Creates the traffic of a run that begins: every link is free. */
export function createTraffic({ options, priceOf }: NetworkModel): Traffic {
  const { workersPerHost = 1 } = options;
  const length = vectorLength(options);
  const hosts = createHosts(options);
  const hostOf = (worker: number): number => Math.floor(worker / workersPerHost);

  function reduce(plan: PlanName, workers: readonly number[], nowMs: number): Transfer {
    const { durationMs, latencyMs, bytesSent } = priceOf(plan, workers.length);
    // Nobody is in two collectives at a time.
    if (workersPerHost === 1) return { endMs: nowMs + durationMs, bytesSent };
    let servedMs = nowMs;
    for (const [host, traffic] of hostTraffic(plan, workers.map(hostOf), length)) {
      const { up, down, within } = hosts(host);
      servedMs = Math.max(servedMs, up.reserve(traffic.out, nowMs), down.reserve(traffic.in, nowMs));
      servedMs = Math.max(servedMs, within.reserve(traffic.within, nowMs));
    }
    return { endMs: servedMs + latencyMs, bytesSent };
  }

  return { reduce, pushAndPull: createServerTraffic(options, (worker) => hosts(hostOf(worker))) };
}

function createHosts(options: NetworkOptions): (host: number) => Host {
  const { bitsPerSecond, hostBitsPerSecond = Number.POSITIVE_INFINITY } = options;
  const hosts = new Map<number, Host>();
  return (number) => {
    const known = hosts.get(number);
    if (known !== undefined) return known;
    const host = {
      up: createLink(bitsPerSecond),
      down: createLink(bitsPerSecond),
      within: createLink(hostBitsPerSecond),
    };
    hosts.set(number, host);
    return host;
  };
}

/**
 * Every group pushes to all servers and pulls from them, so that they are equally busy: the one with the largest part ends last,
 * and stands for all. A group's update is made when its push and all updates before are there.
 */
function createServerTraffic(options: NetworkOptions, hostOf: (worker: number) => Host): Traffic['pushAndPull'] {
  const { bitsPerSecond, servers = 1 } = options;
  const length = vectorLength(options);
  const { start, end } = serverPart({ servers, length }, 0);
  const wholeBytes = Float32Array.BYTES_PER_ELEMENT * length;
  const partBytes = Float32Array.BYTES_PER_ELEMENT * (end - start);
  const latencyMs = length === 0 ? 0 : options.latencyMs;
  const [up, down] = [createLink(bitsPerSecond), createLink(bitsPerSecond)];
  let updatedMs = 0;
  return (workers, nowMs) => {
    let pushedMs = down.reserve(workers.length * partBytes, nowMs);
    for (const worker of workers) pushedMs = Math.max(pushedMs, hostOf(worker).up.reserve(wholeBytes, nowMs));
    updatedMs = Math.max(updatedMs, pushedMs + latencyMs);
    let pulledMs = up.reserve(workers.length * partBytes, updatedMs);
    for (const worker of workers) pulledMs = Math.max(pulledMs, hostOf(worker).down.reserve(wholeBytes, updatedMs));
    return { endMs: pulledMs + latencyMs, bytesSent: () => wholeBytes };
  };
}
