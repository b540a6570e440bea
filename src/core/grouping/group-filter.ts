/**
 * The group filter: which of the queued signals may form a group, so that no worker is cut off from the others' updates
 * (algorithms.md 3.2). `window` is the paper's rule, over the sync-graph of the last T groups; `epoch`, after SDPipe (VLDB 2023),
 * looks at the groups since all were connected last, and steps in only when the rest of T is needed for what is missing.
 */
import { type GroupId, type WorkerId } from '../../base/ids.js';
import type { FilterName } from '../config.js';
import { createFormedGroups, type FormedGroups } from './formed-groups.js';
import type { Signal } from './signal-queue.js';
import { createWindowedGroups } from './windowed-groups.js';

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
  /** T, as it is now. */
  readonly connectivityGroups: number;
  /** Longest number of consecutive groups that it took to connect all active workers. */
  readonly maxGroupsToConnect: number;
}

export interface GroupFilterOptions {
  readonly filter: FilterName;
  /** P. */
  readonly groupSize: number;
  /** T in groups; auto: by N and by the pace of groups, fixed when an epoch begins. */
  readonly connectivityGroups: number | 'auto';
  /** Groups formed during the slowest of these workers' median iteration. */
  readonly groupsPerSlowestIteration: (active: readonly WorkerId[]) => number;
}

/** The default T in units of N - 1: at least, at most; and its room above what the slowest worker's iteration lasts. */
const AUTO_LEAST = 2;
const AUTO_MOST = 16;
const AUTO_ROOM = 1.5;

/** Never below ceil((N - 1) / (P - 1)), with which P-groups can connect N workers at all. */
function boundFor(options: GroupFilterOptions, active: readonly WorkerId[]): number {
  const { groupSize, connectivityGroups } = options;
  const others = active.length - 1;
  return Math.max(
    1,
    Math.ceil(others / (groupSize - 1)),
    connectivityGroups === 'auto' ? autoBound(options, active) : connectivityGroups,
  );
}

/**
 * With the plain 2 (N - 1) the slowest worker sets the pace: it is waited for once in so many groups, however long it takes. So T
 * covers the groups that form while it computes.
 */
function autoBound({ groupsPerSlowestIteration }: GroupFilterOptions, active: readonly WorkerId[]): number {
  const others = active.length - 1;
  const wanted = Math.ceil(AUTO_ROOM * groupsPerSlowestIteration(active));
  return Math.min(Math.max(AUTO_LEAST * others, wanted), AUTO_MOST * others);
}

export function createGroupFilter(options: GroupFilterOptions): GroupFilter {
  let active: readonly WorkerId[] = [];
  /** Groups since the epoch began. Kept whatever the rule: `maxGroupsToConnect` comes from it. */
  const epoch = createFormedGroups();
  /** The last groups, for the window rule. */
  const recent = createWindowedGroups();
  const graph = options.filter === 'window' ? recent : epoch;
  let bound = 1;
  /** T of this epoch, more where an abort or a change of the members asks for it. */
  let budget = 1;
  let maxGroupsToConnect = 0;
  const ignored = new Set<WorkerId>();

  /** Components among the active workers that are not ignored. */
  function componentCount(groups: FormedGroups): number {
    if (ignored.size === 0) return groups.activeComponentCount;
    return groups.componentCount(active.filter((worker) => !ignored.has(worker)));
  }

  function fixBound(): void {
    bound = boundFor(options, active);
    // A window that grows finds the groups that it needs.
    recent.setWindow(bound, Math.max(bound, AUTO_MOST * active.length));
  }

  function beginEpoch(): void {
    epoch.clear();
    fixBound();
    budget = bound;
  }

  /** After an abort or a change of the members: what is left of this epoch, with room to connect the rest. */
  function extendEpoch(): void {
    budget = Math.max(bound, epoch.count + componentCount(epoch) - 1);
  }

  function mustSpan(missing: number): boolean {
    if (missing <= 0) return false;
    switch (options.filter) {
      case 'none':
        return false;
      case 'epoch':
        return epoch.count + missing >= budget;
      case 'window':
        return recent.count >= bound;
      default:
        return options.filter satisfies never;
    }
  }

  function choose(signals: readonly Signal[], size: number): FilterDecision {
    const missing = componentCount(graph) - 1;
    if (!mustSpan(missing)) return { chosen: signals.slice(0, size) };
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
      epoch.add(id, workers);
      if (graph === recent) recent.add(id, workers);
      if (active.length < 2 || epoch.activeComponentCount > 1) return;
      maxGroupsToConnect = Math.max(maxGroupsToConnect, epoch.count);
      beginEpoch();
    },
    aborted(id) {
      recent.remove(id);
      // A group of an epoch that is over has done its connecting on paper only; the next epoch makes up for it.
      if (epoch.remove(id)) extendEpoch();
    },
    membersChanged(now) {
      active = now;
      for (const worker of ignored) if (!now.includes(worker)) ignored.delete(worker);
      epoch.membersChanged(now);
      recent.membersChanged(now);
      if (epoch.count === 0) return beginEpoch();
      fixBound();
      extendEpoch();
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
    get connectivityGroups() {
      return bound;
    },
    get maxGroupsToConnect() {
      return maxGroupsToConnect;
    },
  };
}
