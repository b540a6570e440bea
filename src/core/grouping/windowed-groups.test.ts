import { describe, expect, it } from 'vitest';
import { groupId, type WorkerId, workerId } from '../../base/ids.js';
import { createRandom } from '../../base/random.js';
import { createSyncGraph, type SyncGraph } from './sync-graph.js';
import { createWindowedGroups } from './windowed-groups.js';

const WORKERS = 12;
const KEPT = 30;
const all = Array.from({ length: WORKERS }, (_, worker) => workerId(worker));

/** Built anew, of the last `window` groups among the active workers. */
function plainGraph(groups: readonly (readonly WorkerId[])[], window: number, active: readonly WorkerId[]): SyncGraph {
  const graph = createSyncGraph();
  for (const workers of groups.slice(Math.max(0, groups.length - window))) {
    graph.connect(workers.filter((worker) => active.includes(worker)));
  }
  return graph;
}

describe('windowed groups', () => {
  it.each([1, 2, 3, 4])('have the components of a graph built anew, whatever changes (seed %i)', (seed) => {
    const random = createRandom(seed);
    const some = (count: number): WorkerId[] => {
      const keys = all.map(() => random.next());
      return all.toSorted((a, b) => (keys[a] as number) - (keys[b] as number)).slice(0, count);
    };
    const windowed = createWindowedGroups();
    let groups: { readonly id: ReturnType<typeof groupId>; readonly workers: readonly WorkerId[] }[] = [];
    let active: readonly WorkerId[] = all;
    let window = 8;
    windowed.membersChanged(active);
    windowed.setWindow(window, KEPT);
    const componentsSeen = new Set<number>();
    for (let turn = 0; turn < 2500; turn += 1) {
      const what = random.next();
      if (what < 0.93) {
        const group = { id: groupId(1, turn), workers: some(2 + random.below(3)) };
        groups.push(group);
        windowed.add(group.id, group.workers);
      } else if (what < 0.96) {
        const id = groupId(1, turn - random.below(20));
        windowed.remove(id);
        groups = groups.filter((group) => group.id !== id);
      } else if (what < 0.98) {
        active = some(2 + random.below(WORKERS - 1));
        windowed.membersChanged(active);
      } else {
        window = 1 + random.below(14);
        windowed.setWindow(window, KEPT);
      }
      const plain = plainGraph(
        groups.map(({ workers }) => workers),
        window,
        active,
      );
      componentsSeen.add(plain.componentCount(active));
      expect(windowed.activeComponentCount).toBe(plain.componentCount(active));
      const asked = some(4);
      expect(windowed.componentCount(asked)).toBe(plain.componentCount(asked));
      for (const worker of asked) {
        const isTogether = windowed.componentOf(worker) === windowed.componentOf(asked[0] as WorkerId);
        expect(isTogether).toBe(plain.componentOf(worker) === plain.componentOf(asked[0] as WorkerId));
      }
    }
    // From all together to all apart: the comparison has met what it is about.
    expect(componentsSeen.size).toBeGreaterThan(8);
  });

  it('count no more groups than are remembered', () => {
    const windowed = createWindowedGroups();
    windowed.membersChanged(all);
    windowed.setWindow(2, 5);
    for (let turn = 0; turn < 100; turn += 1) windowed.add(groupId(1, turn), [all[0], all[1]] as WorkerId[]);
    expect(windowed.count).toBe(5);
    expect(windowed.remove(groupId(1, 99))).toBe(true);
    expect(windowed.remove(groupId(1, 100))).toBe(false);
    expect(windowed.count).toBe(5);
    windowed.clear();
    expect(windowed.count).toBe(0);
    expect(windowed.activeComponentCount).toBe(WORKERS);
  });
});
