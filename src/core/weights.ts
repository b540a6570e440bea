/**
 * The weight generator (algorithms.md 4): how much each member's replica counts in its group.
 */
import type { WeightRule, Weighting } from './config.js';

export interface WeightInput {
  readonly k: number;
  /** Samples that its vector took in since its last group: what `samples` weighs by. */
  readonly samples: number;
  /** False: its values are not all finite; it gets no weight, and is skipped in the sum. */
  readonly finite: boolean;
}

/** How a group is weighted. */
export interface GroupWeighting {
  readonly rule: WeightRule;
  readonly weighting: Weighting;
}

/** One weight per member, non-negative, sum 1. If no member is finite all weigh the same: there is nothing to choose from. */
export function groupWeights(members: readonly WeightInput[], { rule, weighting }: GroupWeighting): readonly number[] {
  const finite = members.filter((member) => member.finite);
  const counted = finite.length > 0 ? finite : members;
  const byAge = rule.rule === 'constant' ? counted.map(() => 1 / counted.length) : dynamicWeights(counted, rule);
  const weights = weighting === 'equal' ? byAge : bySamples(byAge, counted);
  if (counted === members) return weights;
  let next = 0;
  return members.map((member) => (member.finite ? (weights[next++] as number) : 0));
}

/** Fair where batches differ: each weight times the member's samples, sum 1 again. Unchanged where nobody counted any. */
function bySamples(weights: readonly number[], members: readonly WeightInput[]): readonly number[] {
  const products = members.map(({ samples }, i) => samples * (weights[i] as number));
  const sum = products.reduce((total, product) => total + product, 0);
  return sum === 0 ? weights : products.map((product) => product / sum);
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
