import { describe, expect, it } from 'vitest';
import { groupId, type WorkerId, workerId } from '../../base/ids.js';
import { createGroupFilter, type FilterDecision, type GroupFilter, type GroupFilterOptions } from './group-filter.js';
import type { Signal } from './signal-queue.js';
import { createSyncGraph } from './sync-graph.js';

const ids = (...numbers: number[]): WorkerId[] => numbers.map(workerId);

function signalsOf(...workers: number[]): Signal[] {
  return workers.map((worker, order) => ({ worker: workerId(worker), k: 1, finite: true, order, sinceMs: 0 }));
}

function filterOf(workerCount: number, options: Partial<GroupFilterOptions> = {}): GroupFilter {
  const filter = createGroupFilter({
    filter: 'epoch',
    groupSize: 2,
    connectivityGroups: 'auto',
    groupsPerSlowestIteration: () => 0,
    ...options,
  });
  filter.membersChanged(ids(...Array.from({ length: workerCount }, (_, i) => i)));
  return filter;
}

function workersOf(decision: FilterDecision): readonly number[] | string {
  return 'chosen' in decision ? decision.chosen.map(({ worker }) => Number(worker)) : decision.hold;
}

/** Workers 0 and 1, then 2 and 3, are ready together for ever; a worker that is not chosen waits. Gives the groups. */
function playPairs(filter: GroupFilter, groupCount: number): (readonly WorkerId[])[] {
  const groups: (readonly WorkerId[])[] = [];
  let waiting: WorkerId[] = [];
  for (let turn = 0; groups.length < groupCount; turn += 1) {
    expect(turn).toBeLessThan(10 * groupCount);
    for (const worker of turn % 2 === 0 ? ids(0, 1) : ids(2, 3)) if (!waiting.includes(worker)) waiting.push(worker);
    while (waiting.length >= 2) {
      const decision = filter.choose(signalsOf(...waiting), 2);
      if ('hold' in decision) break;
      const chosen = decision.chosen.map(({ worker }) => worker);
      waiting = waiting.filter((worker) => !chosen.includes(worker));
      filter.formed(groupId(1, groups.length), chosen);
      groups.push(chosen);
    }
  }
  return groups;
}

function componentsOf(groups: readonly (readonly WorkerId[])[]): number {
  const graph = createSyncGraph();
  for (const group of groups) graph.connect(group);
  return graph.componentCount(ids(0, 1, 2, 3));
}

describe('the vector of algorithms.md 3.2: N = 4, P = 2, (0,1), (2,3) for ever', () => {
  it('stays in two components for ever without a filter', () => {
    const groups = playPairs(filterOf(4, { filter: 'none' }), 400);
    expect(componentsOf(groups)).toBe(2);
  });

  it('is connected within the first four groups with epochs of T = 4', () => {
    const filter = filterOf(4, { connectivityGroups: 4 });
    const groups = playPairs(filter, 400);
    expect(componentsOf(groups.slice(0, 4))).toBe(1);
    expect(filter.maxGroupsToConnect).toBeLessThanOrEqual(4);
    // And not only at the beginning
    for (let from = 0; from + 8 <= groups.length; from += 1) expect(componentsOf(groups.slice(from, from + 8))).toBe(1);
  });
});

describe('the default T', () => {
  it.each([
    [4, 0, 6],
    [4, 4, 6],
    [4, 5, 8],
    [4, 30, 45],
    [4, 33, 48],
    [4, 1000, 48],
    [2, 1000, 16],
    [1, 1000, 1],
  ])('of %i workers, with %i groups in the slowest iteration, is %i', (workers, pace, expected) => {
    const filter = filterOf(workers, { groupsPerSlowestIteration: () => pace });
    expect(filter.connectivityGroups).toBe(expected);
  });

  it('is fixed when an epoch begins or the members change, not in between', () => {
    let pace = 0;
    const filter = filterOf(3, { groupsPerSlowestIteration: () => pace });
    pace = 10;
    filter.formed(groupId(1, 0), ids(0, 1));
    expect(filter.connectivityGroups).toBe(4);
    filter.aborted(groupId(1, 0));
    expect(filter.connectivityGroups).toBe(4);
    filter.formed(groupId(1, 1), ids(0, 1));
    filter.formed(groupId(1, 2), ids(1, 2));
    expect(filter.connectivityGroups).toBe(15);
    pace = 0;
    filter.membersChanged(ids(0, 1, 2, 3));
    expect(filter.connectivityGroups).toBe(6);
  });

  it('is not asked for where T is given', () => {
    const filter = filterOf(4, { connectivityGroups: 40, groupsPerSlowestIteration: () => expect.unreachable() });
    filter.formed(groupId(1, 0), ids(0, 1));
    filter.membersChanged(ids(0, 1));
    expect(filter.connectivityGroups).toBe(40);
  });

  it('lets a window that grows look back at what it had forgotten', () => {
    let pace = 0;
    const filter = filterOf(3, { filter: 'window', groupsPerSlowestIteration: () => pace });
    for (let group = 0; group < 14; group += 1) filter.formed(groupId(1, group), ids(0, 1));
    expect(filter.connectivityGroups).toBe(4);
    pace = 10;
    filter.formed(groupId(1, 14), ids(1, 2));
    expect(filter.connectivityGroups).toBe(15);
    filter.membersChanged(ids(0, 1, 2, 3));
    expect('hold' in filter.choose(signalsOf(0, 1), 2)).toBe(true);
  });
});

describe('window filter', () => {
  it('connects the vector above within every T + N - 1 groups', () => {
    const groups = playPairs(filterOf(4, { filter: 'window', connectivityGroups: 4 }), 400);
    for (let from = 0; from + 7 <= groups.length; from += 1) expect(componentsOf(groups.slice(from, from + 7))).toBe(1);
  });

  it('takes the first in the queue until there have been T groups, then asks for a group across', () => {
    const filter = filterOf(4, { filter: 'window', connectivityGroups: 3 });
    for (let group = 0; group < 3; group += 1) {
      expect(workersOf(filter.choose(signalsOf(0, 1, 2), 2))).toEqual([0, 1]);
      filter.formed(groupId(1, group), ids(0, 1));
    }
    expect(workersOf(filter.choose(signalsOf(0, 1), 2))).toContain(
      'held for connectivity: all 2 ready workers have met',
    );
    expect(workersOf(filter.choose(signalsOf(0, 1, 2), 2))).toEqual([0, 2]);
  });

  it('lets the queue decide while the last T groups are connected, and sees them fall apart', () => {
    const filter = filterOf(3, { filter: 'window', connectivityGroups: 2 });
    filter.formed(groupId(1, 0), ids(0, 2));
    filter.formed(groupId(1, 1), ids(0, 1));
    expect(workersOf(filter.choose(signalsOf(0, 1, 2), 2))).toEqual([0, 1]);
    filter.formed(groupId(1, 2), ids(0, 1));
    expect(workersOf(filter.choose(signalsOf(0, 1, 2), 2))).toEqual([0, 2]);
  });

  it('forgets aborted groups and what met through the dead, and has joiners to connect', () => {
    const filter = filterOf(3, { filter: 'window', connectivityGroups: 2 });
    filter.formed(groupId(1, 0), ids(0, 1));
    filter.formed(groupId(1, 1), ids(1, 2));
    expect(workersOf(filter.choose(signalsOf(0, 2), 2))).toEqual([0, 2]);
    filter.membersChanged(ids(0, 2));
    expect(workersOf(filter.choose(signalsOf(0, 2), 2))).toEqual([0, 2]);
    filter.formed(groupId(1, 2), ids(0, 2));
    filter.membersChanged(ids(0, 2, 3));
    expect('hold' in filter.choose(signalsOf(0, 2), 2)).toBe(true);
    expect(workersOf(filter.choose(signalsOf(0, 2, 3), 2))).toEqual([0, 3]);
    filter.aborted(groupId(1, 2));
    // One group is left of the window: it is not full.
    expect(workersOf(filter.choose(signalsOf(0, 2), 2))).toEqual([0, 2]);
  });

  it('ignores a component that outlasted a hold, until one of its workers is ready', () => {
    const filter = filterOf(4, { filter: 'window', connectivityGroups: 3 });
    for (let group = 0; group < 3; group += 1) filter.formed(groupId(1, group), ids(0, 1));
    filter.holdExpired(ids(0, 1));
    expect(workersOf(filter.choose(signalsOf(0, 1), 2))).toEqual([0, 1]);
    filter.heardFrom(workerId(3));
    expect('hold' in filter.choose(signalsOf(0, 1), 2)).toBe(true);
  });
});

describe('epoch filter', () => {
  it('takes the first in the queue while there is room', () => {
    const filter = filterOf(4, { connectivityGroups: 4 });
    expect(workersOf(filter.choose(signalsOf(3, 1, 0, 2), 2))).toEqual([3, 1]);
    expect(workersOf(filter.choose(signalsOf(3, 1, 0, 2), 3))).toEqual([3, 1, 0]);
  });

  it('makes the group span components once there is none, the oldest signal first', () => {
    const filter = filterOf(4, { connectivityGroups: 3 });
    filter.formed(groupId(1, 0), ids(0, 1));
    // g + (c - 1) = 3 = T: every further group has to join two components.
    expect(workersOf(filter.choose(signalsOf(0, 1, 2, 3), 2))).toEqual([0, 2]);
    expect(workersOf(filter.choose(signalsOf(1, 0, 3), 2))).toEqual([1, 3]);
  });

  it('spans as many components as it can, and fills up in the order of arrival', () => {
    const filter = filterOf(5, { groupSize: 3, connectivityGroups: 3 });
    filter.formed(groupId(1, 0), ids(0, 1));
    filter.formed(groupId(1, 1), ids(2, 3));
    expect(workersOf(filter.choose(signalsOf(0, 1, 2, 4, 3), 3))).toEqual([0, 2, 4]);
    expect(workersOf(filter.choose(signalsOf(0, 1, 3, 2), 3))).toEqual([0, 1, 3]);
  });

  it('holds a queue of one component, and says why', () => {
    const filter = filterOf(4, { connectivityGroups: 3 });
    filter.formed(groupId(1, 0), ids(0, 1));
    expect(workersOf(filter.choose(signalsOf(0, 1), 2))).toContain(
      'held for connectivity: all 2 ready workers have met',
    );
  });

  it('begins a new epoch when all are connected', () => {
    const filter = filterOf(3, { connectivityGroups: 2 });
    filter.formed(groupId(1, 0), ids(0, 1));
    expect(filter.maxGroupsToConnect).toBe(0);
    filter.formed(groupId(1, 1), ids(1, 2));
    expect(filter.maxGroupsToConnect).toBe(2);
    expect(workersOf(filter.choose(signalsOf(0, 1, 2), 2))).toEqual([0, 1]);
  });

  it('never takes a T below ceil((N - 1) / (P - 1)), which no groups could keep', () => {
    const filter = filterOf(4, { connectivityGroups: 1 });
    expect(workersOf(filter.choose(signalsOf(0, 1, 2, 3), 2))).toEqual([0, 1]);
    filter.formed(groupId(1, 0), ids(0, 1));
    expect(workersOf(filter.choose(signalsOf(0, 1, 2, 3), 2))).toEqual([0, 2]);
  });

  it('forgets what an aborted group connected', () => {
    const filter = filterOf(3, { connectivityGroups: 2 });
    filter.formed(groupId(1, 0), ids(0, 1));
    expect('hold' in filter.choose(signalsOf(0, 1), 2)).toBe(true);
    filter.aborted(groupId(1, 0));
    expect(workersOf(filter.choose(signalsOf(0, 1), 2))).toEqual([0, 1]);
  });

  it('ignores the abort of a group of an epoch that is over', () => {
    const filter = filterOf(2, { connectivityGroups: 1 });
    filter.formed(groupId(1, 0), ids(0, 1));
    filter.aborted(groupId(1, 0));
    expect(filter.maxGroupsToConnect).toBe(1);
    expect(workersOf(filter.choose(signalsOf(0, 1), 2))).toEqual([0, 1]);
  });

  it('counts those who are there: a death ends the wait for the dead, a joiner is one to connect', () => {
    const filter = filterOf(3, { connectivityGroups: 2 });
    filter.formed(groupId(1, 0), ids(0, 1));
    expect('hold' in filter.choose(signalsOf(0, 1), 2)).toBe(true);
    filter.membersChanged(ids(0, 1));
    expect(workersOf(filter.choose(signalsOf(0, 1), 2))).toEqual([0, 1]);
    filter.membersChanged(ids(0, 1, 5));
    expect('hold' in filter.choose(signalsOf(0, 1), 2)).toBe(true);
    expect(workersOf(filter.choose(signalsOf(0, 1, 5), 2))).toEqual([0, 5]);
  });

  it('does not take two workers for connected that met only through a dead one', () => {
    const filter = filterOf(3, { connectivityGroups: 3 });
    filter.formed(groupId(1, 0), ids(0, 1));
    filter.membersChanged(ids(0, 2));
    // g = 1 and c = 2: the bound for two workers is kept at T = 3
    filter.formed(groupId(1, 1), ids(0, 2));
    expect(filter.maxGroupsToConnect).toBe(2);
  });

  it('ignores a component that outlasted a hold, until one of its workers is ready', () => {
    const filter = filterOf(4, { connectivityGroups: 3 });
    filter.formed(groupId(1, 0), ids(0, 1));
    filter.formed(groupId(1, 1), ids(2, 3));
    expect('hold' in filter.choose(signalsOf(0, 1), 2)).toBe(true);
    filter.holdExpired(ids(0, 1));
    expect(workersOf(filter.choose(signalsOf(0, 1), 2))).toEqual([0, 1]);
    filter.heardFrom(workerId(0));
    expect(workersOf(filter.choose(signalsOf(0, 1), 2))).toEqual([0, 1]);
    filter.heardFrom(workerId(3));
    expect('hold' in filter.choose(signalsOf(0, 1), 2)).toBe(true);
    expect(workersOf(filter.choose(signalsOf(0, 1, 3), 2))).toEqual([0, 3]);
  });
});
