/**
 * What collectives cost in a replay: as long as those of the record that had as many members. For numbers of members that the
 * record has not, the model of network-model.ts with what can be read off the record: a round's latency is taken to be that of a
 * message to the controller, and the bandwidth is what is then left over.
 */
import { chooseCollective } from '../core/collectives.js';
import type { CollectiveChoice } from '../core/config.js';
import { createNetworkModel, type NetworkModel, type NetworkOptions } from './network-model.js';
import type { RecordedTimes } from './recorded-times.js';

/** Bits per second at which a byte takes 1 ms. */
const BYTE_PER_MS = 8000;

/** The network that fits the recorded collectives, which ran by the plans of `choice`. */
export function fitNetwork(
  { collectives, controlLatencyMs, modelBytes }: RecordedTimes,
  choice: CollectiveChoice,
): NetworkOptions {
  const shared = { controlLatencyMs, modelBytes };
  const rounds = createNetworkModel({ ...shared, latencyMs: 1, bitsPerSecond: Number.POSITIVE_INFINITY });
  const bytes = createNetworkModel({ ...shared, latencyMs: 0, bitsPerSecond: BYTE_PER_MS });
  let sentBytes = 0;
  let leftMs = 0;
  for (const [members, { count, meanMs }] of collectives) {
    const plan = chooseCollective(choice, members);
    if (plan === 'server') continue;
    sentBytes += count * bytes.priceOf(plan, members).durationMs;
    leftMs += count * Math.max(0, meanMs - controlLatencyMs * rounds.priceOf(plan, members).durationMs);
  }
  const bitsPerSecond = leftMs > 0 && sentBytes > 0 ? (BYTE_PER_MS * sentBytes) / leftMs : Number.POSITIVE_INFINITY;
  return { ...shared, latencyMs: controlLatencyMs, bitsPerSecond };
}

/** Creates the network of a replay; the recorded collectives ran by the plans of `choice`. */
export function createReplayNetwork(times: RecordedTimes, choice: CollectiveChoice): NetworkModel {
  const fitted = createNetworkModel(fitNetwork(times, choice));
  return {
    ...fitted,
    priceOf(plan, count) {
      const price = fitted.priceOf(plan, count);
      const recorded = times.collectives.get(count);
      return recorded === undefined ? price : { ...price, durationMs: recorded.meanMs };
    },
  };
}
