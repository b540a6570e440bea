/**
 * The weight generator (algorithms.md 4): how much each member's replica counts in its group.
 */
import type { WeightRule } from './config.js';

export interface WeightInput {
  readonly k: number;
  /** False: its values are not all finite; it gets no weight, and is skipped in the sum. */
  readonly finite: boolean;
}

/** One weight per member, non-negative, sum 1. If no member is finite all weigh the same: there is nothing to choose from. */
export function groupWeights(members: readonly WeightInput[], rule: WeightRule): readonly number[] {
  const finite = members.filter((member) => member.finite);
  const counted = finite.length > 0 ? finite : members;
  const weights = rule.rule === 'constant' ? counted.map(() => 1 / counted.length) : dynamicWeights(counted, rule);
  if (counted === members) return weights;
  let next = 0;
  return members.map((member) => (member.finite ? (weights[next++] as number) : 0));
}

/**
 * Staleness-aware weights: age r = kMax - k + 1 gets the mass (1 - alpha) alpha^(r - 1) / (1 - alpha^R) of an exponential
 * moving average over ages 1 .. R; members of equal age share it. The mass of ages that nobody has goes to the freshest
 * (as in the authors' published code) or to nobody, the rest being divided by its sum.
 */
function dynamicWeights(
  members: readonly WeightInput[],
  rule: Extract<WeightRule, { rule: 'dynamic' }>,
): readonly number[] {
  const { alpha, gap } = rule;
  const kMax = Math.max(...members.map((member) => member.k));
  const ages = members.map((member) => kMax - member.k + 1);
  const oldest = Math.max(...ages);
  const mass = (age: number): number => ((1 - alpha) * alpha ** (age - 1)) / (1 - alpha ** oldest);
  const present = [...new Set(ages)];
  const presentMass = present.reduce((sum, age) => sum + mass(age), 0);
  const massOf = (age: number): number => {
    if (gap === 'initial') return mass(age) / presentMass;
    return age === 1 ? mass(1) + (1 - presentMass) : mass(age);
  };
  return ages.map((age) => massOf(age) / ages.filter((other) => other === age).length);
}
