/**
 * Members that take part in a group while they compute, wait for work or rest (eager-reduce, AD-PSGD): their comm threads do. Such
 * a member keeps its phase; only what it has not reported yet shows that it is in a group.
 */
import { assertPresent } from '../base/assert.js';
import { createRandom, type Random } from '../base/random.js';
import type { Group } from './group.js';
import type { Member } from './member.js';
import type { Roster } from './roster.js';
import { enter, type RunState } from './run-state.js';
import type { Passives } from './strategies/strategy.js';

/** Who may be in a group besides those that have sent their signals. */
export function passivesOf(roster: Roster): Passives {
  return {
    busyCount: roster.count('busy'),
    oddCount: roster.count('odd'),
    list() {
      const groupable = new Set(roster.groupable.map(({ worker }) => worker));
      return roster
        .list('able')
        .map(({ worker }) => worker)
        .filter((worker) => !groupable.has(worker));
    },
    drawFreeOdd(random, { mustBeFinite }) {
      const odd = roster.unsorted('freeOdd');
      const free = mustBeFinite ? odd.filter(({ finite }) => finite) : odd;
      return free[random.below(free.length)]?.worker ?? null;
    },
  };
}

/** Random numbers for the choice of the next group: the same however often the strategy is asked. */
export function drawOf(state: RunState): Random {
  return createRandom(state.config.seed).fork(state.groupCount);
}

/** Whether a READY of step k goes on without a group; the others wait for one. */
export function goesOnByItself({ strategy }: RunState, member: Member, k: number): boolean {
  switch (strategy.passive) {
    case 'odd-workers':
      return member.worker % 2 === 1;
    case 'everybody':
      // Its gradient is of a replica that misses some round: that one is there already.
      return k <= member.k;
    default:
      return false;
  }
}

/** What is wrong with the k of a READY; null: nothing. */
export function misnumbered({ strategy }: RunState, member: Member, k: number, steps: number): string | null {
  const expected = member.k + steps;
  // The training thread may be rounds behind its comm thread.
  if (strategy.passive === 'everybody' ? k >= 1 && k <= expected : k === expected) return null;
  return `READY with k ${k}: expected ${expected}, ${steps === 1 ? 'one' : steps} more than its replica's`;
}

/** A member that did not wait for this group holds its result. */
export function onPassiveDone(state: RunState, member: Member, { kMax, finite }: Group): void {
  const { strategy, roster, queue } = state;
  // It may have taken a step since the group was formed.
  member.k = Math.max(member.k, kMax);
  member.samplesSinceGroup = 0;
  if (strategy.replica.exchanges === 'replica') member.finite = finite;
  const { signal } = member;
  if (member.phase === 'queued' && assertPresent(signal, 'a signal').k <= member.k) {
    queue.remove(member.worker);
    member.signal = null;
    enter(state, member, 'computing');
  }
  roster.update(member);
}

/** A worker that was away lacks the gradients of the rounds formed meanwhile, and nobody keeps them. */
export function hasMissedRound({ strategy, groupCount }: RunState, member: Member): boolean {
  const appliesRounds = strategy.replica.exchanges === 'gradient' && strategy.usesServers !== true;
  return appliesRounds && groupCount > member.suspectSinceGroup;
}
