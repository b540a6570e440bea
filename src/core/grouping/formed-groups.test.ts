import { describe, expect, it } from 'vitest';
import { groupId, type WorkerId, workerId } from '../../base/ids.js';
import { createRandom } from '../../base/random.js';
import { createFormedGroups } from './formed-groups.js';

describe('formed groups', () => {
  it('count the components of the active workers as a search does, whatever changes', () => {
    const random = createRandom(2);
    const groups = createFormedGroups();
    let active: readonly WorkerId[] = [];
    const some = (share: number): WorkerId[] =>
      Array.from({ length: 10 }, (_, worker) => workerId(worker)).filter(() => random.next() < share);
    for (let turn = 0; turn < 3000; turn += 1) {
      const what = random.next();
      if (what < 0.8) groups.add(groupId(1, turn), some(0.15));
      else if (what < 0.9) groups.remove(groupId(1, turn - random.below(8)));
      else if (what < 0.95) {
        active = some(0.7);
        groups.membersChanged(active);
      } else groups.clear();
      expect(groups.activeComponentCount).toBe(groups.componentCount(active));
    }
  });
});
