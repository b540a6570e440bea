import { describe, expect, it } from 'vitest';
import { type WorkerId, workerId } from '../../base/ids.js';
import { createRandom } from '../../base/random.js';
import { createSyncGraph } from './sync-graph.js';

const ids = (...numbers: number[]): WorkerId[] => numbers.map(workerId);

describe('sync-graph', () => {
  it('has every worker alone at first', () => {
    expect(createSyncGraph().componentCount(ids(0, 1, 2))).toBe(3);
    expect(createSyncGraph().componentCount([])).toBe(0);
  });

  it('joins the members of a group, and groups with a common member', () => {
    const graph = createSyncGraph();
    graph.connect(ids(0, 1));
    graph.connect(ids(2, 3, 4));
    expect(graph.componentCount(ids(0, 1, 2, 3, 4, 5))).toBe(3);
    graph.connect(ids(1, 4));
    expect(graph.componentCount(ids(0, 1, 2, 3, 4, 5))).toBe(2);
    expect(graph.componentOf(workerId(0))).toBe(graph.componentOf(workerId(3)));
    expect(graph.componentOf(workerId(5))).toBe(5);
  });

  it('counts only the components of those asked about', () => {
    const graph = createSyncGraph();
    graph.connect(ids(0, 1));
    expect(graph.componentCount(ids(0, 1))).toBe(1);
    expect(graph.componentCount(ids(1, 2))).toBe(2);
  });

  it('ignores groups of none and of one', () => {
    const graph = createSyncGraph();
    graph.connect([]);
    graph.connect(ids(7));
    expect(graph.componentCount(ids(6, 7))).toBe(2);
  });

  it('agrees with repeated relabelling on random edges', () => {
    const random = createRandom(3);
    for (let trial = 0; trial < 50; trial += 1) {
      const graph = createSyncGraph();
      const labels = Array.from({ length: 12 }, (_, i) => i);
      for (let edge = 0; edge < 8; edge += 1) {
        const [a, b] = [random.below(12), random.below(12)];
        graph.connect(ids(a, b));
        const [from, to] = [labels[a], labels[b]];
        labels.forEach((label, i) => {
          if (label === from) labels[i] = to as number;
        });
      }
      expect(graph.componentCount(ids(...labels.keys()))).toBe(new Set(labels).size);
    }
  });
});
