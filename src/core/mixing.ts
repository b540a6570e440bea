/**
 * The mixing matrices of a run and its convergence quantity rho (algorithms.md 5): the largest eigenvalue of
 * E[W^T (I - 11^T/N) W], E over the last groups, by power iteration. For constant weights it is the second largest
 * eigenvalue of E[W^T W]; below 1 the replicas come together.
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

/** result += W^T (I - 11^T/N) W v for one group, without building W. `scratch` has the length of v. */
function addApplied(group: MixingGroup, v: Float64Array, result: Float64Array, scratch: Float64Array): void {
  const { members, weights } = group;
  scratch.set(v);
  let sum = 0;
  for (const member of members) sum += v[member] as number;
  members.forEach((member, j) => {
    scratch[member] = sum * (weights[j] as number);
  });
  let mean = 0;
  for (const value of scratch) mean += value;
  mean /= v.length;
  let mixed = 0;
  members.forEach((member, j) => {
    mixed += (weights[j] as number) * ((scratch[member] as number) - mean);
  });
  for (let i = 0; i < v.length; i += 1) result[i] = (result[i] as number) + (scratch[i] as number) - mean;
  for (const member of members) {
    result[member] = (result[member] as number) - ((scratch[member] as number) - mean) + mixed;
  }
}

const ITERATIONS_MAX = 2000;
const TOLERANCE = 1e-10;

/** rho of these groups (each equally likely) among `workerCount` workers; null without groups. */
export function mixingRho(groups: readonly MixingGroup[], workerCount: number): number | null {
  if (groups.length === 0 || workerCount < 2) return null;
  const random = createRandom(1);
  let v = Float64Array.from({ length: workerCount }, () => random.normal());
  let next = new Float64Array(workerCount);
  const scratch = new Float64Array(workerCount);
  let rho = 0;
  for (let iteration = 0; iteration < ITERATIONS_MAX; iteration += 1) {
    const norm = Math.sqrt(v.reduce((sum, value) => sum + value ** 2, 0));
    if (norm === 0) return 0;
    for (let i = 0; i < workerCount; i += 1) v[i] = (v[i] as number) / norm;
    next.fill(0);
    for (const group of groups) addApplied(group, v, next, scratch);
    let quotient = 0;
    for (let i = 0; i < workerCount; i += 1) {
      next[i] = (next[i] as number) / groups.length;
      quotient += (v[i] as number) * (next[i] as number);
    }
    const change = Math.abs(quotient - rho);
    rho = quotient;
    if (change < TOLERANCE) break;
    [v, next] = [next, v];
  }
  return rho;
}
