/**
 * The ring: steps, neighbours and bytes of every rank, beside what every plan must do.
 */
import { describe, expect, it } from 'vitest';
import { bytesOfPart, describePlan, PLAN_CASES, plansOf, stepsOf } from '../../../test/suites/plan-suite.js';
import { bytesOfPlan, formatPlan } from './plan.js';
import { planRing } from './ring.js';

describePlan('ring');

describe('the ring plan', () => {
  it.each(PLAN_CASES)(
    'of $count members and $length values has the documented steps and bytes',
    ({ count, length }) => {
      for (const plan of plansOf('ring', count, length)) {
        const { rank, rounds } = plan;
        expect(rounds.length).toBe(Math.max(1, 2 * (count - 1)));
        for (const kind of ['send', 'receive'] as const) expect(stepsOf(plan, kind).length).toBe(2 * (count - 1));
        expect(stepsOf(plan, 'reduce').length).toBe(Math.max(1, count - 1));
        // Every part twice, but the own one and a neighbour's once.
        const but = (neighbour: number): number =>
          count === 1 ? 0 : 8 * length - bytesOfPart(plan, rank) - bytesOfPart(plan, neighbour);
        expect(bytesOfPlan(plan)).toEqual({ sent: but(rank + 1), received: but(rank - 1) });
      }
    },
  );

  it.each(PLAN_CASES)('of $count members and $length values knows two neighbours', ({ count, length }) => {
    for (const plan of plansOf('ring', count, length)) {
      for (const { peer } of stepsOf(plan, 'send')) expect(peer).toBe((plan.rank + 1) % count);
      for (const { peer } of stepsOf(plan, 'receive')) expect(peer).toBe((plan.rank + count - 1) % count);
    }
  });

  it('is readable', () => {
    expect(formatPlan(planRing(1, 3, 7))).toBe(
      [
        'ring, rank 1 of 3',
        '  1 send reduce part 0 [0, 3) to 2, 12 bytes',
        '  1 receive reduce part 2 [5, 7) from 0, 8 bytes',
        '  2 reduce part 2 [5, 7), 8 bytes',
        '  2 send reduce part 2 [5, 7) to 2, 8 bytes',
        '  2 receive reduce part 1 [3, 5) from 0, 8 bytes',
        '  3 reduce part 1 [3, 5), 8 bytes',
        '  3 send gather part 1 [3, 5) to 2, 8 bytes',
        '  3 receive gather part 0 [0, 3) from 0, 12 bytes',
        '  4 send gather part 0 [0, 3) to 2, 12 bytes',
        '  4 receive gather part 2 [5, 7) from 0, 8 bytes',
      ].join('\n'),
    );
  });
});
