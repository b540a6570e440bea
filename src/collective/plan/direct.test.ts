/**
 * The direct plan: steps and bytes of every rank, beside what every plan must do.
 */
import { describe, expect, it } from 'vitest';
import { bytesOfPart, describePlan, PLAN_CASES, plansOf, stepsOf } from '../../../test/suites/plan-suite.js';
import { planDirect } from './direct.js';
import { bytesOfPlan, formatPlan } from './plan.js';

describePlan('direct');

describe('the direct plan', () => {
  it.each(PLAN_CASES)(
    'of $count members and $length values has the documented steps and bytes',
    ({ count, length }) => {
      for (const plan of plansOf('direct', count, length)) {
        expect(plan.rounds.length).toBe(2);
        for (const kind of ['send', 'receive'] as const) expect(stepsOf(plan, kind).length).toBe(2 * (count - 1));
        expect(stepsOf(plan, 'reduce').length).toBe(1);
        // All but its own part once, its own part count - 1 times.
        const own = bytesOfPart(plan, plan.rank);
        const bytes = 4 * length - own + (count - 1) * own;
        expect(bytesOfPlan(plan)).toEqual({ sent: bytes, received: bytes });
      }
    },
  );

  it('is readable', () => {
    expect(formatPlan(planDirect(1, 3, 7))).toBe(
      [
        'direct, rank 1 of 3',
        '  1 send reduce part 2 [5, 7) to 2, 8 bytes',
        '  1 send reduce part 0 [0, 3) to 0, 12 bytes',
        '  1 receive reduce part 1 [3, 5) from 2, 8 bytes',
        '  1 receive reduce part 1 [3, 5) from 0, 8 bytes',
        '  2 reduce part 1 [3, 5), 8 bytes',
        '  2 send gather part 1 [3, 5) to 2, 8 bytes',
        '  2 send gather part 1 [3, 5) to 0, 8 bytes',
        '  2 receive gather part 2 [5, 7) from 2, 8 bytes',
        '  2 receive gather part 0 [0, 3) from 0, 12 bytes',
      ].join('\n'),
    );
  });
});
