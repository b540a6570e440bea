/**
 * The plans by name.
 */
import { planDirect } from './direct.js';
import type { Plan, PlanName } from './plan.js';
import { planRing } from './ring.js';

const PLANNERS = { direct: planDirect, ring: planRing } as const satisfies Record<
  PlanName,
  (rank: number, count: number, length: number) => Plan
>;

/** The names, the default first. */
export const PLAN_NAMES: readonly PlanName[] = ['direct', 'ring'];

/** The plan `name` of the member at `rank` among `count`, for a vector of `length` values. */
export function planCollective(name: PlanName, rank: number, count: number, length: number): Plan {
  return PLANNERS[name](rank, count, length);
}
