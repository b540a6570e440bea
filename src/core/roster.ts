/**
 * Who is where: sets of members that follow their state, so that an event costs what it concerns and not the number of workers.
 * What a set means stands in one predicate; whoever changes a member calls `update`.
 */
import { createIndexedSet } from '../base/indexed-set.js';
import { createSignalQueue, type Signal } from './grouping/signal-queue.js';
import { isActive, isSynced, type Member } from './member.js';

const PLACES = {
  /** Waits for a donor of the model. */
  joining: ({ phase, suspectSinceMs }: Member) => phase === 'joining' && suspectSinceMs === null,
  unsynced: (member: Member) => !isSynced(member),
  /** May hand the model to a joiner, if it is fresh enough. */
  donors: (member: Member) => isAble(member) && member.finite,
  /** Holds the model, and has not been told to start. */
  waiting: ({ phase }: Member) => phase === 'waiting',
  /** Has the model, or is about to, and has not sent its first READY. */
  coming: ({ phase, counted, suspectSinceMs, leaving }: Member) =>
    (phase === 'syncing' || (phase === 'computing' && !counted)) && suspectSinceMs === null && !leaving,
  active: isActive,
  counted: ({ counted }: Member) => counted,
  notFinite: ({ finite }: Member) => !finite,
  /** Waits for a lease, and may have one. */
  idle: ({ phase, suspectSinceMs, leaving }: Member) => phase === 'idle' && suspectSinceMs === null && !leaving,
  /** Rests for the final average. */
  finished: ({ phase, suspectSinceMs }: Member) => phase === 'finished' && suspectSinceMs === null,
  /** Held the model when the run's controller died, and may come back. */
  returning: (member: Member) => member.returning && isSynced(member) && !member.leaving,
  suspects: ({ suspectSinceMs }: Member) => suspectSinceMs !== null,
  leavers: ({ leaving }: Member) => leaving,
  /** Holds the model, and is there: its comm thread can take part in a group, whatever it does itself. */
  able: isAble,
  /** Of those the ones whose last group is not over. */
  busy: (member: Member) => isAble(member) && !isFree(member),
  odd: (member: Member) => isActive(member) && member.worker % 2 === 1,
  freeOdd: (member: Member) => isActive(member) && member.worker % 2 === 1 && isFree(member),
} as const satisfies Record<string, (member: Member) => boolean>;

export type Place = keyof typeof PLACES;

function isAble(member: Member): boolean {
  return isSynced(member) && member.suspectSinceMs === null && !member.leaving;
}

function isFree({ group, openGroup }: Member): boolean {
  return group === null && openGroup === null;
}

export interface Roster {
  /** To be called when the member came, and after every change of it. */
  update(member: Member): void;
  /** It is no member any more. */
  remove(member: Member): void;
  count(place: Place): number;
  /** Ascending by number. */
  list(place: Place): readonly Member[];
  /** The same, in an order that only their changes decide; follows the members. */
  unsorted(place: Place): readonly Member[];
  /** Grows with every change of who is there. */
  version(place: Place): number;
  /** Signals that may be grouped now, oldest first: of active members whose last group is over, and who do not rest. Follows the members. */
  readonly groupable: readonly Signal[];
}

const NOBODY: readonly Member[] = [];

function isGroupable(member: Member): boolean {
  return member.phase === 'queued' && member.restsUntilMs === null && isFree(member) && isActive(member);
}

export function createRoster(): Roster {
  const places = (Object.keys(PLACES) as Place[]).map((place) => ({
    place,
    belongs: PLACES[place],
    members: createIndexedSet<Member>(),
    version: 0,
  }));
  const byName = new Map(places.map((entry) => [entry.place, entry]));
  const groupable = createSignalQueue();
  const entryOf = (place: Place) => byName.get(place) as (typeof places)[number];

  return {
    groupable: groupable.signals,
    update(member) {
      for (const entry of places) {
        const belongs = entry.belongs(member);
        if (belongs === entry.members.has(member)) continue;
        if (belongs) entry.members.add(member);
        else entry.members.delete(member);
        entry.version += 1;
      }
      const { signal } = member;
      const isIn = groupable.has(member.worker);
      if (signal !== null && isGroupable(member)) {
        if (!isIn) groupable.put(signal);
      } else if (isIn) groupable.remove(member.worker);
    },
    remove(member) {
      for (const entry of places) if (entry.members.delete(member)) entry.version += 1;
      groupable.remove(member.worker);
    },
    count: (place) => entryOf(place).members.size,
    list(place) {
      const { members } = entryOf(place);
      return members.size === 0 ? NOBODY : members.items.toSorted((a, b) => a.worker - b.worker);
    },
    unsorted: (place) => entryOf(place).members.items,
    version: (place) => entryOf(place).version,
  };
}
