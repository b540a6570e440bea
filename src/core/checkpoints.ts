/**
 * Checkpoints without stopping anybody: each worker keeps its own state at a moment between two of its steps, and says so on the
 * connection that its reports take, so that what core knows of it when the answer comes is what its replica contains. What the
 * early ones do until the last has answered is taken out again: progress and ledger are those of the replicas kept.
 *
 * As in the snapshots of Chandy and Lamport (1985) nobody waits; unlike them an average that crosses the cut is not kept: a
 * replica cut late may contain a little of what an early one did after its own cut, and will do again.
 */
import type { WorkerEvent } from './events.js';
import type { Lease } from './group.js';
import { isSynced, type Member } from './member.js';
import { lifeOf } from './membership.js';
import type { Collection, RunState } from './run-state.js';

/** Asks for a checkpoint when one is due. */
export function checkCheckpoint(state: RunState): void {
  if (state.collection !== null || state.finishReason !== null || !isDue(state)) return;
  askCheckpoint(state);
}

function isDue({ config, started, progress, checkpointedAt, nowMs }: RunState): boolean {
  const { everySamples = null, everyMs = null } = config.checkpoints ?? {};
  if (!started) return false;
  if (everyMs !== null && nowMs >= checkpointedAt.timeMs + everyMs) return true;
  if (everySamples === null) return false;
  return Math.floor(progress.samples / everySamples) > Math.floor(checkpointedAt.samples / everySamples);
}

/** Asks everybody who holds the model; an older one that is not complete is given up. To be called before `finish` is sent. */
export function askCheckpoint(state: RunState): void {
  if (state.config.checkpoints === null || !state.started) return;
  const asked = [...state.members.values()].filter(isSynced);
  if (asked.length === 0) return;
  state.checkpointCount += 1;
  state.checkpointedAt = { samples: state.progress.samples, timeMs: state.nowMs };
  state.collection = {
    number: state.checkpointCount,
    pending: new Set(asked.map((member) => member.worker)),
    parts: [],
    unfinished: [],
    later: { samples: 0, localSteps: 0 },
  };
  // Synchronous replicas are the same only after the same round: the first that was not sent out yet.
  const fromK = state.strategy.synchronous ? 1 + Math.max(...asked.map(({ k, group }) => group?.kMax ?? k)) : 0;
  const workers = asked.map(lifeOf);
  state.effects.push({ type: 'askCheckpoint', checkpoint: state.checkpointCount, fromK, workers });
}

/** Gives what is wrong with the answer, where it breaks the protocol. */
export function onCheckpointed(
  state: RunState,
  member: Member,
  event: Extract<WorkerEvent, { type: 'checkpointed' }>,
): string | null {
  const { collection } = state;
  const { checkpoint, part } = event;
  if (checkpoint > state.checkpointCount) return `answered checkpoint ${checkpoint}, which was not asked for`;
  if (collection?.number !== checkpoint || !collection.pending.has(member.worker)) return null;
  if (member.phase !== 'computing' && member.phase !== 'idle') return `answered a checkpoint while ${member.phase}`;
  if (part.k !== member.k) return `answered a checkpoint with k ${part.k}: expected its replica's, ${member.k}`;
  const lease = state.ledger?.heldBy(member.worker) ?? null;
  const isOwn = part.lease === null ? part.processed === 0 : part.lease === lease?.id && part.processed <= lease.count;
  if (!isOwn)
    return `answered a checkpoint with ${part.processed} samples of lease ${part.lease}, which it does not hold`;
  collection.pending.delete(member.worker);
  collection.parts.push({ worker: member.worker, ...part });
  return null;
}

export function onCheckpointFailed(
  state: RunState,
  member: Member,
  { checkpoint, reason }: Extract<WorkerEvent, { type: 'checkpointFailed' }>,
): void {
  if (state.collection?.number !== checkpoint) return;
  state.collection = null;
  state.effects.push({ type: 'checkpointFailed', checkpoint, worker: member.worker, reason });
}

/** What a worker does after its answer (or as a joiner, who is not asked) is not in the checkpoint. */
function isLater(collection: Collection | null, member: Member): collection is Collection {
  return collection !== null && !collection.pending.has(member.worker);
}

/** To be called for each READY. */
export function countLaterSteps({ collection }: RunState, member: Member, samples: number, steps: number): void {
  if (!isLater(collection, member)) return;
  const { later } = collection;
  collection.later = { samples: later.samples + samples, localSteps: later.localSteps + steps };
}

/** To be called for each lease that is finished. */
export function keepLaterLease({ collection }: RunState, member: Member, lease: Lease): void {
  if (isLater(collection, member)) collection.unfinished.push(lease);
}

/** Tells of the checkpoint once nobody is waited for. */
export function completeCheckpoint(state: RunState): void {
  const { collection, ledger, progress } = state;
  if (collection === null) return;
  if (collection.pending.size > 0) return;
  state.collection = null;
  const { number: checkpoint, parts, unfinished, later } = collection;
  if (parts.length === 0) return;
  const processed = new Map<number, number>();
  for (const part of parts) {
    // A lease of a dead worker may have been begun by another, too.
    if (part.lease !== null) processed.set(part.lease, Math.max(part.processed, processed.get(part.lease) ?? 0));
  }
  state.effects.push({
    type: 'checkpoint',
    checkpoint,
    parts: parts.toSorted((a, b) => a.worker - b.worker),
    progress: {
      samples: progress.samples - later.samples,
      localSteps: progress.localSteps - later.localSteps,
    },
    ledger: ledger === null ? null : ledger.exportState({ unfinished, processed }),
  });
}

/** When the next one is due by time; null: by other things. */
export function checkpointDeadlineMs(state: RunState): number | null {
  const { config, started, collection, finishReason, checkpointedAt } = state;
  const everyMs = config.checkpoints?.everyMs ?? null;
  if (everyMs === null || !started || collection !== null || finishReason !== null) return null;
  return checkpointedAt.timeMs + everyMs;
}
