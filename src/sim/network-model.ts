/**
 * What communication costs in virtual time. A collective costs its plan's rounds, one after another: in each the latency, and
 * the bytes of the busiest member, whose sends share its uplink and whose receives share its downlink; links are full duplex,
 * and all transfers of a round go on at the same time. This is the alpha-beta model (Hockney, 1994; Thakur, Rabenseifner and
 * Gropp, 2005) applied to the very plans that workers execute. The real executor overlaps rounds segment by segment, so its rings
 * can be a little faster; sums cost nothing here.
 */
import { planCollective } from '../collective/plan/plans.js';
import { bytesOfPlan, type Plan, type PlanName, type Round } from '../collective/plan/plan.js';

export interface NetworkOptions {
  /** From worker to worker, in ms. */
  readonly latencyMs: number;
  /** Between a worker and the controller, one way, in ms. */
  readonly controlLatencyMs: number;
  /** Of each worker's uplink, and of its downlink; Infinity: bytes cost nothing. */
  readonly bitsPerSecond: number;
  /** What a collective averages, in bytes (a whole number of float32 values). */
  readonly modelBytes: number;
  readonly plan: PlanName;
}

/** What one collective costs. */
export interface CollectivePrice {
  readonly durationMs: number;
  /** By rank. */
  readonly bytesSent: readonly number[];
}

export interface NetworkModel {
  readonly controlLatencyMs: number;
  /** A collective among `count` members. */
  priceOf(count: number): CollectivePrice;
}

const BYTES_PER_VALUE = Float32Array.BYTES_PER_ELEMENT;

/** Creates the model; the price of each group size is worked out once, in O(count^2) for the plans that there are. */
export function createNetworkModel(options: NetworkOptions): NetworkModel {
  const prices = new Map<number, CollectivePrice>();

  function priceOf(count: number): CollectivePrice {
    const known = prices.get(count);
    if (known !== undefined) return known;
    const length = Math.ceil(options.modelBytes / BYTES_PER_VALUE);
    const plans = Array.from({ length: count }, (_, rank) => planCollective(options.plan, rank, count, length));
    const price = {
      durationMs: durationOf(plans, options),
      bytesSent: plans.map((plan) => bytesOfPlan(plan).sent),
    };
    prices.set(count, price);
    return price;
  }

  return { controlLatencyMs: options.controlLatencyMs, priceOf };
}

/** How long the members take that execute these plans, one each. */
export function durationOf(
  plans: readonly Plan[],
  { latencyMs, bitsPerSecond }: Pick<NetworkOptions, 'latencyMs' | 'bitsPerSecond'>,
): number {
  const rounds = Math.max(0, ...plans.map((plan) => plan.rounds.length));
  let durationMs = 0;
  for (let round = 0; round < rounds; round += 1) {
    let bytes = 0;
    for (const plan of plans) bytes = Math.max(bytes, busiestWay(plan.rounds[round] ?? []));
    // Where nothing is sent nothing is waited for.
    if (bytes > 0) durationMs += latencyMs + (8000 * bytes) / bitsPerSecond;
  }
  return durationMs;
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
