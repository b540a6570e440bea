/**
 * The sync-graph of a sliding window over groups: joined by groups, parted when the oldest of them leave. A spanning forest whose
 * edges are as young as can be (Kruskal over time: a new edge that closes a cycle takes the place of the cycle's oldest), so an edge
 * that leaves with its group has no younger one to stand in for it, and nothing is ever searched. Trees are parent pointers without
 * balance: a step costs the depth of a tree, tens of nodes for a thousand workers, where building the graph anew costs the window.
 */
import { assertPresent } from '../../base/assert.js';
import type { WorkerId } from '../../base/ids.js';

export interface WindowForest {
  /** Joins all these workers by a group of this age; ages never fall. */
  connect(workers: readonly WorkerId[], age: number): void;
  /** The groups of lower ages than this connect nobody any more. */
  expireBefore(age: number): void;
  /** The same worker for all of a component; until the next change. */
  componentOf(worker: WorkerId): WorkerId;
  /** By how much the edges lower the number of components. */
  readonly edgeCount: number;
}

interface Edge {
  readonly a: WorkerId;
  readonly b: WorkerId;
  readonly age: number;
}

interface Link {
  readonly parent: WorkerId;
  readonly edge: Edge;
}

export function createWindowForest(): WindowForest {
  /** From each worker that is no root towards its root. */
  const links = new Map<WorkerId, Link>();
  /** Every edge that was set and has not expired, oldest first; those that were replaced meanwhile are among them. */
  let edges: Edge[] = [];
  let firstEdge = 0;

  function rootOf(worker: WorkerId): WorkerId {
    let root = worker;
    for (let link = links.get(root); link !== undefined; link = links.get(root)) root = link.parent;
    return root;
  }

  /** Turns the pointers on the way from `worker` to its root around. */
  function makeRoot(worker: WorkerId): void {
    let node = worker;
    let link = links.get(node);
    links.delete(node);
    while (link !== undefined) {
      const { parent, edge } = link;
      link = links.get(parent);
      links.set(parent, { parent: node, edge });
      node = parent;
    }
  }

  /** The worker that the edge hangs by; null where the edge was replaced. */
  function lowerEnd(edge: Edge): WorkerId | null {
    if (links.get(edge.a)?.edge === edge) return edge.a;
    return links.get(edge.b)?.edge === edge ? edge.b : null;
  }

  /** The oldest edge on the way from `worker` up to the root `top`; there is one. */
  function oldestUpTo(top: WorkerId, worker: WorkerId): Edge {
    let oldest: Edge | null = null;
    for (let node = worker; node !== top; ) {
      const { parent, edge } = assertPresent(links.get(node), `link of worker ${node}`);
      if (oldest === null || edge.age < oldest.age) oldest = edge;
      node = parent;
    }
    return assertPresent(oldest, 'edge between two workers');
  }

  function cut(edge: Edge): void {
    const end = lowerEnd(edge);
    if (end !== null) links.delete(end);
  }

  function join(a: WorkerId, b: WorkerId, age: number): void {
    if (a === b) return;
    makeRoot(a);
    if (rootOf(b) === a) cut(oldestUpTo(a, b));
    // Cut or not, they are in two trees now, and a is the root of its own: b may be below whatever it likes.
    const edge = { a, b, age };
    links.set(a, { parent: b, edge });
    edges.push(edge);
  }

  return {
    connect(workers, age) {
      for (let i = 1; i < workers.length; i += 1) join(workers[i - 1] as WorkerId, workers[i] as WorkerId, age);
    },
    expireBefore(age) {
      for (let edge = edges[firstEdge]; edge !== undefined && edge.age < age; edge = edges[firstEdge]) {
        cut(edge);
        firstEdge += 1;
      }
      // Half of it is history: forgotten at the price of one move each.
      if (2 * firstEdge <= edges.length) return;
      edges = edges.slice(firstEdge);
      firstEdge = 0;
    },
    componentOf: rootOf,
    get edgeCount() {
      return links.size;
    },
  };
}
