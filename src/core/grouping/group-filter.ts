/**
 * The group filter: which of the queued signals may form a group, so that no worker is cut off from the others' updates
 * (algorithms.md 3.2; the epoch rule is stronger than the paper's window, after SDPipe, VLDB 2023).
 */
import { type GroupId, type WorkerId } from '../../base/ids.js';
import type { FilterName } from '../config.js';
import type { Signal } from './signal-queue.js';
import { createSyncGraph, type SyncGraph } from './sync-graph.js';

export type FilterDecision = { readonly chosen: readonly Signal[] } | { readonly hold: string };

export interface GroupFilter {
  /** Chooses `size` of the signals (at least as many, oldest first), or holds them until another component is ready. */
  choose(signals: readonly Signal[], size: number): FilterDecision;
  /** A group was formed. */
  formed(group: GroupId, workers: readonly WorkerId[]): void;
  /** It was aborted: it connected nobody. */
  aborted(group: GroupId): void;
  /** The active workers are these from now on; ascending. */
  membersChanged(active: readonly WorkerId[]): void;
  /** A hold outlasted its time-out: the components that it waited for are ignored until one of their workers is ready. */
  holdExpired(queued: readonly WorkerId[]): void;
  /** The worker sent READY. */
  heardFrom(worker: WorkerId): void;
  /** Longest number of consecutive groups that it took to connect all active workers. */
  readonly maxGroupsToConnect: number;
}

export interface GroupFilterOptions {
  readonly filter: FilterName;
  /** P. */
  readonly groupSize: number;
  /** T in groups; auto: 2 (N - 1). */
  readonly connectivityGroups: number | 'auto';
}

interface FormedGroup {
  readonly id: GroupId;
  readonly workers: readonly WorkerId[];
}

/** Never below ceil((N - 1) / (P - 1)), with which P-groups can connect N workers at all. */
function boundFor(options: GroupFilterOptions, activeCount: number): number {
  const least = Math.ceil((activeCount - 1) / (options.groupSize - 1));
  const wanted = options.connectivityGroups === 'auto' ? 2 * (activeCount - 1) : options.connectivityGroups;
  return Math.max(1, least, wanted);
}

export function createGroupFilter(options: GroupFilterOptions): GroupFilter {
  let active: readonly WorkerId[] = [];
  let groups: FormedGroup[] = [];
  let graph: SyncGraph = createSyncGraph();
  let budget = 1;
  let maxGroupsToConnect = 0;
  const ignored = new Set<WorkerId>();

  /** Components that count, and those of the active workers that are not ignored. */
  function componentCount(): number {
    return graph.componentCount(active.filter((worker) => !ignored.has(worker)));
  }

  function beginEpoch(): void {
    groups = [];
    graph = createSyncGraph();
    budget = boundFor(options, active.length);
  }

  /** After an abort or a change of the members: what is left of this epoch, with room to connect the rest. */
  function rebuild(): void {
    graph = createSyncGraph();
    const living = new Set(active);
    for (const { workers } of groups) graph.connect(workers.filter((worker) => living.has(worker)));
    budget = Math.max(boundFor(options, active.length), groups.length + componentCount() - 1);
  }

  function choose(signals: readonly Signal[], size: number): FilterDecision {
    const fifo = signals.slice(0, size);
    const missing = componentCount() - 1;
    if (options.filter === 'none' || missing <= 0 || groups.length + missing < budget) return { chosen: fifo };
    const spanning: Signal[] = [];
    const seen = new Set<WorkerId>();
    for (const signal of signals) {
      if (spanning.length === size) break;
      const component = graph.componentOf(signal.worker);
      if (seen.has(component)) continue;
      seen.add(component);
      spanning.push(signal);
    }
    if (spanning.length < 2) {
      return {
        hold: `held for connectivity: all ${signals.length} ready workers have met, ${missing} components are missing`,
      };
    }
    for (const signal of signals) {
      if (spanning.length === size) break;
      if (!spanning.includes(signal)) spanning.push(signal);
    }
    return { chosen: spanning.toSorted((a, b) => a.order - b.order) };
  }

  return {
    choose,
    formed(id, workers) {
      groups.push({ id, workers });
      graph.connect(workers);
      if (active.length < 2 || graph.componentCount(active) > 1) return;
      maxGroupsToConnect = Math.max(maxGroupsToConnect, groups.length);
      beginEpoch();
    },
    aborted(id) {
      const kept = groups.filter((group) => group.id !== id);
      // A group of an epoch that is over has done its connecting on paper only; the next epoch makes up for it.
      if (kept.length === groups.length) return;
      groups = kept;
      rebuild();
    },
    membersChanged(now) {
      active = now;
      for (const worker of ignored) if (!now.includes(worker)) ignored.delete(worker);
      if (groups.length === 0) beginEpoch();
      else rebuild();
    },
    holdExpired(queued) {
      const present = new Set(queued.map((worker) => graph.componentOf(worker)));
      for (const worker of active) if (!present.has(graph.componentOf(worker))) ignored.add(worker);
    },
    heardFrom(worker) {
      if (!ignored.has(worker)) return;
      const component = graph.componentOf(worker);
      for (const other of ignored) if (graph.componentOf(other) === component) ignored.delete(other);
    },
    get maxGroupsToConnect() {
      return maxGroupsToConnect;
    },
  };
}
