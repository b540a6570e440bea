/**
 * What a worker that has joined says: turned into core's events and the run's story.
 */
import { PreduceError } from '../base/errors.js';
import { type GroupId, type LeaseId, workerId } from '../base/ids.js';
import type { Life } from '../core/events.js';
import type { WorkerMessage } from '../wire/messages.js';
import type { RunParts } from './run-parts.js';

/** Throws `protocol-violation` for what is not for a worker. What it says at the wrong time, core judges. */
export function onWorkerMessage(
  { story, sessions, servers, step }: RunParts,
  life: Life,
  message: WorkerMessage,
): void {
  const { worker } = life;
  switch (message.type) {
    case 'synced':
      story.tell({ type: 'workerSynced', worker, k: message.k, donor: sessions.of(life)?.donor ?? null });
      step({ type: 'synced', ...life, k: message.k });
      return servers.synced(worker);
    case 'transferFailed':
      story.tell({ type: 'fault', kind: 'transfer', worker, message: message.reason });
      return step({ type: 'transferFailed', ...life, reason: message.reason });
    case 'ready': {
      const { k, steps = 1, samples, finite } = message;
      story.tell({ ...message, steps, worker });
      if (!finite) {
        story.tell({ type: 'fault', kind: 'not-finite', worker, message: `a value is not finite after step ${k}` });
      }
      return step({ type: 'ready', ...life, k, steps, samples, finite });
    }
    case 'done': {
      const group = message.group as GroupId;
      story.tell({ type: 'reduced', worker, group, bytesSent: message.bytesSent, reduceMs: message.reduceMs });
      for (const far of message.clipped ?? []) {
        const text = `group ${group}: the values of worker ${far} were far from the others' and were bounded`;
        story.tell({ type: 'fault', kind: 'clipped', worker: workerId(far), message: text });
      }
      return step({ type: 'done', ...life, group });
    }
    case 'aborted':
      return step({
        type: 'aborted',
        ...life,
        group: message.group as GroupId,
        reason: message.reason,
        ...(message.stalled === undefined ? {} : { stalled: workerId(message.stalled) }),
      });
    case 'leaseRequest':
      return step({ type: 'leaseRequested', ...life, finished: message.finished as LeaseId | null });
    case 'checkpointed': {
      const { checkpoint, k, lease, processed, bytes, sha256 } = message;
      return step({ type: 'checkpointed', ...life, checkpoint, part: { k, lease, processed, bytes, sha256 } });
    }
    case 'checkpointFailed':
      return step({ type: 'checkpointFailed', ...life, checkpoint: message.checkpoint, reason: message.reason });
    case 'finished':
      story.tell({ type: 'workerFinished', worker });
      return step({ type: 'finished', ...life });
    case 'leave':
      return step({ type: 'leaving', ...life });
    case 'log':
      return story.tell({ type: 'logged', worker, values: message.values });
    case 'heartbeat':
      return;
    case 'hello':
    case 'join':
    case 'resume':
    case 'evaluated':
    case 'evaluationFailed':
    case 'serverJoin':
    case 'shardHeld':
    case 'shardFailed':
      throw new PreduceError('protocol-violation', `"${message.type}" is not for a worker that has joined`);
    default:
      message satisfies never;
  }
}
