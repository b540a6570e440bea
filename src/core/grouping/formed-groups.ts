/**
 * Groups that were formed, oldest first, with their sync-graph: of all since an epoch began. Those of a window: windowed-groups.ts.
 */
import type { GroupId, WorkerId } from '../../base/ids.js';
import { createSyncGraph, type SyncGraph } from './sync-graph.js';

export interface FormedGroups {
  readonly count: number;
  add(group: GroupId, workers: readonly WorkerId[]): void;
  /** False where the group is not among them. */
  remove(group: GroupId): boolean;
  clear(): void;
  /** Edges to others than these count no more: who met only through a dead worker has not met. */
  membersChanged(active: readonly WorkerId[]): void;
  componentOf(worker: WorkerId): WorkerId;
  /** Components among the active workers. Costs nothing. */
  readonly activeComponentCount: number;
  componentCount(workers: readonly WorkerId[]): number;
}

export function createFormedGroups(): FormedGroups {
  let groups: { readonly id: GroupId; readonly workers: readonly WorkerId[] }[] = [];
  let active: ReadonlySet<WorkerId> = new Set();
  let graph: SyncGraph = createSyncGraph();
  /** By how much edges between active workers, the only ones that the graph has, lower the number of its components. */
  let merged = 0;

  function rebuild(): void {
    graph = createSyncGraph();
    merged = 0;
    for (const { workers } of groups) connect(workers);
  }

  function connect(workers: readonly WorkerId[]): void {
    merged += graph.connect(workers.filter((worker) => active.has(worker)));
  }

  return {
    get count() {
      return groups.length;
    },
    add(id, workers) {
      groups.push({ id, workers });
      connect(workers);
    },
    remove(id) {
      const kept = groups.filter((group) => group.id !== id);
      if (kept.length === groups.length) return false;
      groups = kept;
      rebuild();
      return true;
    },
    clear() {
      groups = [];
      rebuild();
    },
    membersChanged(now) {
      active = new Set(now);
      rebuild();
    },
    componentOf: (worker) => graph.componentOf(worker),
    get activeComponentCount() {
      return active.size - merged;
    },
    componentCount: (workers) => graph.componentCount(workers),
  };
}
