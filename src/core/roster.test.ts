import { describe, expect, it } from 'vitest';
import { groupId, workerId } from '../base/ids.js';
import { createRandom } from '../base/random.js';
import { defaultCoreConfig } from './config.js';
import {
  createMember,
  isActive,
  isSynced,
  iterationMedianMs,
  type Member,
  type Phase,
  recordIteration,
} from './member.js';
import { createRoster, type Place } from './roster.js';
import { createRunState, enter, noteMedian, slowestIterationMs } from './run-state.js';

const PHASES: readonly Phase[] = [
  'joining',
  'syncing',
  'waiting',
  'computing',
  'queued',
  'grouped',
  'idle',
  'finished',
];

/** What the places mean, said once more by searching everybody. */
const ORACLE: Readonly<Record<Place, (member: Member) => boolean>> = {
  joining: (m) => m.phase === 'joining' && m.suspectSinceMs === null,
  unsynced: (m) => m.phase === 'joining' || m.phase === 'syncing',
  donors: (m) => isSynced(m) && m.finite && m.suspectSinceMs === null && !m.leaving,
  waiting: (m) => m.phase === 'waiting',
  coming: (m) =>
    (m.phase === 'syncing' || (m.phase === 'computing' && !m.counted)) && m.suspectSinceMs === null && !m.leaving,
  active: isActive,
  counted: (m) => m.counted,
  notFinite: (m) => !m.finite,
  idle: (m) => m.phase === 'idle' && m.suspectSinceMs === null && !m.leaving,
  finished: (m) => m.phase === 'finished' && m.suspectSinceMs === null,
  returning: (m) => m.returning && isSynced(m) && !m.leaving,
  suspects: (m) => m.suspectSinceMs !== null,
  leavers: (m) => m.leaving,
  able: (m) => isSynced(m) && m.suspectSinceMs === null && !m.leaving,
  busy: (m) => isSynced(m) && m.suspectSinceMs === null && !m.leaving && (m.group !== null || m.openGroup !== null),
  odd: (m) => isActive(m) && m.worker % 2 === 1,
  freeOdd: (m) => isActive(m) && m.worker % 2 === 1 && m.group === null && m.openGroup === null,
};

describe('roster', () => {
  it('agrees with a search through all members, whatever happens to them', () => {
    const random = createRandom(11);
    const roster = createRoster();
    const members = new Map<number, Member>();
    let order = 0;
    for (let turn = 0; turn < 3000; turn += 1) {
      const worker = random.below(9);
      const member = members.get(worker) ?? createMember(workerId(worker), 1, 0);
      members.set(worker, member);
      if (random.next() < 0.05) {
        members.delete(worker);
        roster.remove(member);
      } else {
        member.phase = PHASES[random.below(PHASES.length)] as Phase;
        if (random.next() < 0.2) member.counted = !member.counted;
        if (random.next() < 0.2) member.leaving = !member.leaving;
        if (random.next() < 0.2) member.finite = !member.finite;
        if (random.next() < 0.2) member.suspectSinceMs = member.suspectSinceMs === null ? turn : null;
        member.openGroup = random.next() < 0.3 ? groupId(1, turn) : null;
        if (member.phase === 'queued') {
          order += 1;
          member.signal ??= { worker: member.worker, k: 1, finite: true, order, sinceMs: 0 };
        } else member.signal = null;
        roster.update(member);
      }
      const all = [...members.values()].sort((a, b) => a.worker - b.worker);
      for (const [place, belongs] of Object.entries(ORACLE) as [Place, (member: Member) => boolean][]) {
        const expected = all.filter(belongs).map((each) => each.worker);
        expect({ turn, place, workers: roster.list(place).map((each) => each.worker) }).toEqual({
          turn,
          place,
          workers: expected,
        });
        expect(roster.count(place)).toBe(expected.length);
        expect(new Set(roster.unsorted(place).map((each) => each.worker))).toEqual(new Set(expected));
      }
      const groupable = all
        .filter((each) => each.phase === 'queued' && isActive(each) && each.openGroup === null)
        .flatMap((each) => each.signal ?? [])
        .sort((a, b) => a.order - b.order);
      expect(roster.groupable).toEqual(groupable);
    }
  });

  it('tells by its version whether somebody came or went', () => {
    const roster = createRoster();
    const member = createMember(workerId(0), 1, 0);
    roster.update(member);
    const before = roster.version('joining');
    roster.update(member);
    expect(roster.version('joining')).toBe(before);
    member.phase = 'syncing';
    roster.update(member);
    expect(roster.version('joining')).toBe(before + 1);
  });
});

describe('slowest iteration', () => {
  it('is the longest median of the active workers, whatever changes', () => {
    const random = createRandom(5);
    const state = createRunState(defaultCoreConfig());
    for (let worker = 0; worker < 6; worker += 1) {
      const member = createMember(workerId(worker), 1, 0);
      member.counted = true;
      state.members.set(member.worker, member);
      enter(state, member, 'computing');
    }
    const members = [...state.members.values()];
    for (let turn = 0; turn < 2000; turn += 1) {
      const member = members[random.below(6)] as Member;
      if (random.next() < 0.1) enter(state, member, member.phase === 'idle' ? 'computing' : 'idle');
      const before = iterationMedianMs(member);
      recordIteration(member, 1 + random.below(5));
      noteMedian(state, member, before);
      const medians = members.filter(isActive).map((each) => iterationMedianMs(each) ?? 0);
      expect(slowestIterationMs(state)).toBe(Math.max(0, ...medians));
    }
  });
});
