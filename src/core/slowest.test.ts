import { expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import { createRandom } from '../base/random.js';
import { createMember, isActive } from './member.js';
import { createRoster } from './roster.js';
import { createSlowest } from './slowest.js';

it('agrees with a search through all members, whoever goes on, leaves or joins', () => {
  const random = createRandom(3);
  const roster = createRoster();
  const slowest = createSlowest(roster);
  expect(slowest()).toBeNull();
  const members = Array.from({ length: 7 }, (_, worker) => createMember(workerId(worker), 1, 0));
  for (const member of members) {
    member.phase = 'computing';
    member.counted = true;
    roster.update(member);
  }
  for (let turn = 0; turn < 3000; turn += 1) {
    const member = members[random.below(members.length)];
    if (member === undefined) continue;
    const { worker } = member;
    if (!isActive(member)) {
      // Back with the replica of whoever handed it over.
      member.phase = 'computing';
      member.k = (members[random.below(members.length)] ?? member).k;
    } else if (random.next() < 0.02) member.phase = 'finished';
    else if (member.signal === null) member.signal = { worker, k: member.k + 1, finite: true, order: turn, sinceMs: 0 };
    else {
      member.k = member.signal.k;
      member.signal = null;
    }
    roster.update(member);
    const expected = members
      .filter(isActive)
      .map((each) => ({ worker: each.worker, k: each.signal?.k ?? each.k }))
      .toSorted((a, b) => a.k - b.k || a.worker - b.worker)[0];
    expect(slowest()).toEqual(expected ?? null);
  }
});
