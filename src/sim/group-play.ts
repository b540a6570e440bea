/**
 * Groups of a simulated run, from the moment at which the controller formed them to the moment at which their members hold the
 * result: GROUP on its way, members that must make room first, the collective on the network, the sum. All members begin and
 * end at the same time.
 */
import { assertPresent } from '../base/assert.js';
import type { WorkerId } from '../base/ids.js';
import { plainKernel } from '../collective/kernel/plain-kernel.js';
import type { Group } from '../core/group.js';
import type { SimServers } from './sim-servers.js';
import type { SimWorker } from './sim-worker.js';
import type { Timeline } from './timeline.js';
import type { Traffic } from './traffic.js';

export interface GroupPlayParts {
  readonly timeline: Timeline;
  readonly traffic: Traffic;
  /** From the controller to a worker. */
  readonly controlLatencyMs: number;
  readonly workerOf: (worker: WorkerId) => SimWorker;
  /** Null: the strategy has none. */
  readonly servers: SimServers | null;
  /** `goOn` waited for it, and compute now. */
  readonly onEnd: (group: Group, outcome: GroupOutcome, goOn: readonly WorkerId[]) => void;
}

export interface GroupOutcome {
  readonly reduceMs: number;
  /** Bytes that the member at `rank` sent. */
  bytesSent(rank: number): number;
}

export interface GroupPlay {
  formed(group: Group): void;
  /** The worker has made room for a result that a collective waits for, where one does. */
  madeRoom(worker: WorkerId): void;
  /** Acts when no collective has the worker's replica: now, or when that one is over. */
  whenFree(worker: WorkerId, act: () => void): void;
}

export function createGroupPlay(parts: GroupPlayParts): GroupPlay {
  const { timeline, traffic, controlLatencyMs, workerOf, servers, onEnd } = parts;
  const roomAwaited = new Map<WorkerId, () => void>();
  const endAwaited = new Map<WorkerId, () => void>();

  /** GROUP is there. */
  function arrive(group: Group): void {
    const workers = group.members.map(({ worker }) => worker);
    if (group.kind === 'final') {
      for (const worker of workers) workerOf(worker).offerReplica();
      return begin(group, workers);
    }
    let missing = 0;
    for (const worker of workers) {
      if (workerOf(worker).begin()) continue;
      missing += 1;
      roomAwaited.set(worker, () => {
        workerOf(worker).begin();
        missing -= 1;
        if (missing === 0) begin(group, workers);
      });
    }
    if (missing === 0) begin(group, workers);
  }

  /** What the members bring is settled, and so is the result; it is theirs at the end. */
  function begin(group: Group, workers: readonly WorkerId[]): void {
    const vectors = workers.map((worker) => workerOf(worker).exchanged);
    const result = new Float32Array(vectors[0]?.length ?? 0);
    plainKernel.weightedSumInto(
      result,
      vectors,
      group.members.map(({ weight }) => weight),
    );
    const { nowMs } = timeline;
    if (group.collective === 'server') assertPresent(servers, 'servers').apply(group, result);
    const { endMs, bytesSent } =
      group.collective === 'server'
        ? traffic.pushAndPull(workers, nowMs)
        : traffic.reduce(group.collective, workers, nowMs);
    timeline.at(endMs, () => end(group, result, { reduceMs: endMs - nowMs, bytesSent }));
  }

  function end(group: Group, result: Float32Array, outcome: GroupOutcome): void {
    const workers = group.members.map(({ worker }) => worker);
    if (group.kind === 'final') {
      for (const worker of workers) workerOf(worker).takeFinal(result);
      return onEnd(group, outcome, []);
    }
    onEnd(
      group,
      outcome,
      workers.filter((worker) => workerOf(worker).commit(result, group.kMax)),
    );
    for (const worker of workers) take(endAwaited, worker)?.();
  }

  return {
    formed: (group) => timeline.after(controlLatencyMs, () => arrive(group)),
    madeRoom: (worker) => take(roomAwaited, worker)?.(),
    whenFree(worker, act) {
      if (workerOf(worker).isHeld) endAwaited.set(worker, act);
      else act();
    },
  };
}

/** Takes the entry out of the map. */
function take<T>(map: Map<WorkerId, T>, worker: WorkerId): T | undefined {
  const found = map.get(worker);
  if (found !== undefined) map.delete(worker);
  return found;
}
