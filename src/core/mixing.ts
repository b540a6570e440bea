/**
 * The mixing matrices of a run and its convergence quantity rho (algorithms.md 5): the largest eigenvalue of
 * E[W (I - 11^T/N) W^T], E over the last groups, by power iteration: the most that the replicas' squared distance from their
 * mean keeps in one group. Below 1 they come together. The paper's E[W^T W] is the same for constant weights, whose W is
 * symmetric; for others it is not what X <- X W does (docs/decisions/0010-rho-for-asymmetric-weights.md).
 */
import { createRandom } from '../base/random.js';

/** One group, as it mixes replicas: member i's new replica is the sum over j of weights[j] times member j's. */
export interface MixingGroup {
  /** Positions of the members among the N workers. */
  readonly members: readonly number[];
  readonly weights: readonly number[];
}

/** W of one group, N x N, row by row: column i of a member holds the weights; 1 on the diagonal outside the group. */
export function mixingMatrix({ members, weights }: MixingGroup, workerCount: number): number[][] {
  const matrix = Array.from({ length: workerCount }, (_, row) =>
    Array.from({ length: workerCount }, (__, column) => (row === column ? 1 : 0)),
  );
  for (const column of members) {
    for (let row = 0; row < workerCount; row += 1) (matrix[row] as number[])[column] = 0;
    members.forEach((row, j) => {
      (matrix[row] as number[])[column] = weights[j] as number;
    });
  }
  return matrix;
}

/**
 * What W (I - 11^T/N) W^T v of one group is apart from v - mean, added to `result`; gives that mean, of W^T v. Without building
 * W, and at the cost of the group's size: outside of the group nothing else is added. `total` is the sum of v.
 */
function addApplied(group: MixingGroup, v: Float64Array, total: number, result: Float64Array): number {
  const { members, weights } = group;
  let mixed = 0;
  let before = 0;
  for (let j = 0; j < members.length; j += 1) {
    const value = v[members[j] as number] as number;
    mixed += (weights[j] as number) * value;
    before += value;
  }
  const mean = (total - before + members.length * mixed) / v.length;
  const sum = members.length * (mixed - mean);
  for (let j = 0; j < members.length; j += 1) {
    const member = members[j] as number;
    result[member] = (result[member] as number) - ((v[member] as number) - mean) + (weights[j] as number) * sum;
  }
  return mean;
}

const ITERATIONS_MAX = 2000;
const TOLERANCE = 1e-10;

/** rho of these groups (each equally likely) among `workerCount` workers; null without groups. */
export function mixingRho(groups: readonly MixingGroup[], workerCount: number): number | null {
  if (groups.length === 0 || workerCount < 2) return null;
  const random = createRandom(1);
  let v = Float64Array.from({ length: workerCount }, () => random.normal());
  let next = new Float64Array(workerCount);
  let rho = 0;
  for (let iteration = 0; iteration < ITERATIONS_MAX; iteration += 1) {
    const norm = Math.sqrt(v.reduce((sum, value) => sum + value ** 2, 0));
    if (norm === 0) return 0;
    let total = 0;
    for (let i = 0; i < workerCount; i += 1) {
      v[i] = (v[i] as number) / norm;
      total += v[i] as number;
    }
    next.fill(0);
    let mean = 0;
    for (const group of groups) mean += addApplied(group, v, total, next);
    mean /= groups.length;
    let quotient = 0;
    for (let i = 0; i < workerCount; i += 1) {
      next[i] = (v[i] as number) - mean + (next[i] as number) / groups.length;
      quotient += (v[i] as number) * (next[i] as number);
    }
    const change = Math.abs(quotient - rho);
    rho = quotient;
    if (change < TOLERANCE) break;
    [v, next] = [next, v];
  }
  return rho;
}
