/**
 * The sync-graph (paper, section on group-frozen avoidance): live workers are its nodes, members of a common group are
 * joined by an edge. Only its components matter, so it is a union-find.
 */
import type { WorkerId } from '../../base/ids.js';

export interface SyncGraph {
  /** Joins all these workers. Gives how many components fewer there are. */
  connect(workers: readonly WorkerId[]): number;
  /** A representative of the worker's component; a worker never connected is its own. */
  componentOf(worker: WorkerId): WorkerId;
  /** Components among `workers`. */
  componentCount(workers: readonly WorkerId[]): number;
}

export function createSyncGraph(): SyncGraph {
  const parents = new Map<WorkerId, WorkerId>();

  function componentOf(worker: WorkerId): WorkerId {
    let root = worker;
    for (let parent = parents.get(root); parent !== undefined && parent !== root; parent = parents.get(root))
      root = parent;
    // Path compression keeps later look-ups short.
    for (let node = worker; node !== root; ) {
      const next = parents.get(node) ?? root;
      parents.set(node, root);
      node = next;
    }
    return root;
  }

  return {
    componentOf,
    connect(workers) {
      const [first, ...others] = workers;
      let merged = 0;
      if (first === undefined) return merged;
      for (const other of others) {
        const a = componentOf(first);
        const b = componentOf(other);
        if (a === b) continue;
        // The smaller number leads: the outcome does not depend on the order of the edges.
        parents.set(a < b ? b : a, a < b ? a : b);
        merged += 1;
      }
      return merged;
    },
    componentCount: (workers) => new Set(workers.map(componentOf)).size,
  };
}
