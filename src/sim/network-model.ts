/**
 * What communication costs in virtual time. A collective costs its plan's rounds, one after another: in each the latency, and
 * the bytes of the busiest member, whose sends share its uplink and whose receives share its downlink; links are full duplex,
 * and all transfers of a round go on at the same time. This is the alpha-beta model (Hockney, 1994; Thakur, Rabenseifner and
 * Gropp, 2005) applied to the very plans that workers execute. The real executor overlaps rounds segment by segment, so its rings
 * can be a little faster; sums cost nothing here.
 * What several collectives on one link cost each other is traffic.ts's.
 */
import { planCollective } from '../collective/plan/plans.js';
import { bytesOfPlan, type PlanName, type Round } from '../collective/plan/plan.js';
import { transferMs } from './links.js';

export interface NetworkOptions {
  /** From worker to worker, in ms. */
  readonly latencyMs: number;
  /** Between a worker and the controller, one way, in ms. */
  readonly controlLatencyMs: number;
  /** Of each host's uplink, and of its downlink; Infinity: bytes cost nothing. */
  readonly bitsPerSecond: number;
  /** What a collective averages, in bytes (a whole number of float32 values). */
  readonly modelBytes: number;
  /** S, parameter servers, each on a host of its own. Default 1. */
  readonly servers?: number;
  /** Workers 0 to n - 1 sit on the first host, and so on. Default 1: nobody shares a link. */
  readonly workersPerHost?: number;
  /** Of what moves within a host. Default Infinity. */
  readonly hostBitsPerSecond?: number;
}

/** What one collective costs. */
export interface CollectivePrice {
  readonly durationMs: number;
  /** The part of it that is latency. */
  readonly latencyMs: number;
  /** Bytes that the member at `rank` sends. */
  bytesSent(rank: number): number;
}

export interface NetworkModel {
  readonly options: NetworkOptions;
  readonly controlLatencyMs: number;
  /** A collective by this plan among `count` members, where nobody else uses their links. */
  priceOf(plan: PlanName, count: number): CollectivePrice;
}

const BYTES_PER_VALUE = Float32Array.BYTES_PER_ELEMENT;
/** Above, only the first and the last rank's plans are looked at: the others' differ by a value here and there. */
const RANKS_PRICED_MAX = 128;

/** Values of the vector that a collective averages. */
export function vectorLength({ modelBytes }: NetworkOptions): number {
  return Math.ceil(modelBytes / BYTES_PER_VALUE);
}

/** Creates the model; the price of each plan and group size is worked out once. */
export function createNetworkModel(options: NetworkOptions): NetworkModel {
  const prices = new Map<string, CollectivePrice>();
  const length = vectorLength(options);

  function priceOf(name: PlanName, count: number): CollectivePrice {
    const key = `${name} ${count}`;
    const known = prices.get(key);
    if (known !== undefined) return known;
    const ranks = count <= RANKS_PRICED_MAX ? Array.from({ length: count }, (_, rank) => rank) : [0, count - 1];
    const sent: number[] = [];
    /** Bytes of the busiest member in each round. */
    const rounds: number[] = [];
    for (const rank of ranks) {
      const plan = planCollective(name, rank, count, length);
      sent.push(bytesOfPlan(plan).sent);
      plan.rounds.forEach((round, i) => {
        rounds[i] = Math.max(rounds[i] ?? 0, busiestWay(round));
      });
    }
    const price = { ...costOf(rounds, options), bytesSent: (rank: number) => sent[rank] ?? sent[0] ?? 0 };
    prices.set(key, price);
    return price;
  }

  return { options, controlLatencyMs: options.controlLatencyMs, priceOf };
}

function costOf(
  rounds: readonly number[],
  { latencyMs, bitsPerSecond }: NetworkOptions,
): Omit<CollectivePrice, 'bytesSent'> {
  // Where nothing is sent nothing is waited for.
  const used = rounds.filter((bytes) => bytes > 0);
  return {
    durationMs: used.reduce((sum, bytes) => sum + latencyMs + transferMs(bytes, bitsPerSecond), 0),
    latencyMs: used.length * latencyMs,
  };
}

/** Bytes that leave a member in a round, or reach it, whichever are more. */
function busiestWay(round: Round): number {
  let sent = 0;
  let received = 0;
  for (const step of round) {
    if (step.kind === 'send') sent += step.bytes;
    if (step.kind === 'receive') received += step.bytes;
  }
  return Math.max(sent, received);
}
