/**
 * What the strategies with servers share: a gradient's weight, and rounds of which a late gradient is no part.
 */
import type { Signal } from '../grouping/signal-queue.js';
import type { GroupDecision, GroupingContext, Pulls, Strategy } from './strategy.js';

/** What every strategy with servers has in common: gradients go there, parameters come back. */
export const SERVED = {
  usesServers: true,
  replica: { exchanges: 'gradient' },
  weights: () => ({ rule: 'constant' }),
} as const satisfies Partial<Strategy>;

/** One worker's gradient is applied at once; a gradient that is not finite is dropped, and its worker only pulls. */
export function pushAlone(signal: Signal, weight: number): GroupDecision {
  return { group: [signal], weights: [signal.finite ? weight : 0] };
}

/** The mean of those that are finite. */
function pushTogether(signals: readonly Signal[]): GroupDecision {
  const count = signals.filter(({ finite }) => finite).length;
  return { group: signals, weights: signals.map(({ finite }) => (finite ? 1 / count : 0)) };
}

/** Whether an update was made since the worker pulled. */
function isLate({ updates, pulledAt }: Pulls, { worker }: Signal): boolean {
  return pulledAt(worker) < updates;
}

/**
 * A round ends with its first `size` gradients, of which the mean is applied. One of an older round is discarded as it comes,
 * and its worker pulls: it is of the present round then.
 */
export function chooseRound({ signals, pulls }: GroupingContext, size: number): GroupDecision {
  const late = signals.find((signal) => isLate(pulls, signal));
  if (late !== undefined) return pushAlone(late, 0);
  if (signals.length < size) return { wait: `waiting ${signals.length}/${size}`, held: false };
  return pushTogether(signals.slice(0, size));
}
