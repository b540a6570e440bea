/**
 * The last groups that were formed, with the sync-graph of a window over the youngest of them: the paper's rule. A group costs some
 * steps in the forest; whatever is rare (an abort, a change of the members or of the window) builds it anew.
 */
import type { GroupId, WorkerId } from '../../base/ids.js';
import type { FormedGroups } from './formed-groups.js';
import { createWindowForest, type WindowForest } from './window-forest.js';

export interface WindowedGroups extends FormedGroups {
  /** Only the last `count` groups make the graph; at least `kept` are remembered, for a window that grows. */
  setWindow(count: number, kept: number): void;
}

/** With a window of nothing, until `setWindow`. */
export function createWindowedGroups(): WindowedGroups {
  let groups: { readonly id: GroupId; readonly workers: readonly WorkerId[] }[] = [];
  let active: ReadonlySet<WorkerId> = new Set();
  let window = 0;
  let remembered = 0;
  let forest: WindowForest = createWindowForest();
  /** Of the next group. */
  let age = 0;

  function connect(workers: readonly WorkerId[]): void {
    forest.connect(
      workers.filter((worker) => active.has(worker)),
      age,
    );
    age += 1;
  }

  function rebuild(): void {
    forest = createWindowForest();
    age = 0;
    for (const { workers } of groups.slice(Math.max(0, groups.length - window))) connect(workers);
  }

  function forget(): void {
    groups = groups.slice(Math.max(0, groups.length - remembered));
  }

  return {
    get count() {
      return Math.min(groups.length, remembered);
    },
    add(id, workers) {
      groups.push({ id, workers });
      // All at once, now and then: `shift` moves a long list at every call.
      if (groups.length > 2 * remembered) forget();
      connect(workers);
      forest.expireBefore(age - window);
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
    setWindow(count, kept) {
      remembered = kept;
      if (count === window) return;
      window = count;
      rebuild();
    },
    componentOf: (worker) => forest.componentOf(worker),
    get activeComponentCount() {
      return active.size - forest.edgeCount;
    },
    componentCount: (workers) => new Set(workers.map(forest.componentOf)).size,
  };
}
