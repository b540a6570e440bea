import { describe, expect, it } from 'vitest';
import { createRandom } from '../base/random.js';
import { type MixingGroup, mixingMatrix, mixingRho } from './mixing.js';

/** All subsets of `size` of 0 .. count - 1. */
function subsets(count: number, size: number, from = 0): number[][] {
  if (size === 0) return [[]];
  const found: number[][] = [];
  for (let first = from; first <= count - size; first += 1) {
    for (const rest of subsets(count, size - 1, first + 1)) found.push([first, ...rest]);
  }
  return found;
}

function constantGroup(...members: number[]): MixingGroup {
  return { members, weights: members.map(() => 1 / members.length) };
}

function weighted(...entries: readonly (readonly [member: number, weight: number])[]): MixingGroup {
  return { members: entries.map(([member]) => member), weights: entries.map(([, weight]) => weight) };
}

/** These groups; worker 0 has that weight in each of its own, the others share the rest. */
function lightFirst(groups: readonly (readonly number[])[], weight: number): MixingGroup[] {
  return groups.map((members) => {
    if (!members.includes(0)) return constantGroup(...members);
    return { members, weights: members.map((member) => (member === 0 ? weight : (1 - weight) / (members.length - 1))) };
  });
}

function pairsWithLightFirst(workerCount: number, weight: number): MixingGroup[] {
  return lightFirst(subsets(workerCount, 2), weight);
}

function uniformGroups(workerCount: number, size: number): MixingGroup[] {
  return subsets(workerCount, size).map((members) => constantGroup(...members));
}

function meanMatrix(groups: readonly MixingGroup[], workerCount: number): number[][] {
  const matrices = groups.map((group) => mixingMatrix(group, workerCount));
  return Array.from({ length: workerCount }, (_, row) =>
    Array.from({ length: workerCount }, (__, column) => {
      let sum = 0;
      for (const matrix of matrices) sum += matrix[row]?.[column] ?? Number.NaN;
      return sum / groups.length;
    }),
  );
}

function expectMatrix(matrix: readonly (readonly number[])[], expected: readonly (readonly number[])[]): void {
  expected.forEach((row, i) => {
    row.forEach((value, j) => {
      expect(matrix[i]?.[j], `[${i}][${j}]`).toBeCloseTo(value, 12);
    });
  });
}

// P{12} = 1/2, P{13} = P{23} = 1/4
const unevenThree = [constantGroup(0, 1), constantGroup(0, 1), constantGroup(0, 2), constantGroup(1, 2)];

describe('mixingMatrix', () => {
  it('has the weights in the columns of the members, 1 on the diagonal elsewhere', () => {
    expect(mixingMatrix({ members: [2, 0], weights: [0.75, 0.25] }, 3)).toEqual([
      [0.25, 0, 0.25],
      [0, 1, 0],
      [0.75, 0, 0.75],
    ]);
  });

  it('has 2/3 on and 1/6 off the diagonal in the mean of uniform pairs of three', () => {
    const [on, off] = [2 / 3, 1 / 6];
    expectMatrix(meanMatrix(uniformGroups(3, 2), 3), [
      [on, off, off],
      [off, on, off],
      [off, off, on],
    ]);
  });

  it('has the mean of algorithms.md 5 for uneven pairs of three', () => {
    expectMatrix(meanMatrix(unevenThree, 3), [
      [5 / 8, 1 / 4, 1 / 8],
      [1 / 4, 5 / 8, 1 / 8],
      [1 / 8, 1 / 8, 3 / 4],
    ]);
  });
});

describe('mixingRho', () => {
  it.each([
    [3, 2, 0.5],
    [8, 2, 0.857143],
    [8, 3, 0.714286],
    [8, 5, 0.428571],
    [8, 8, 0],
  ])('of uniform groups, N = %i, P = %i, is (N - P)/(N - 1) = %f', (workerCount, size, expected) => {
    const rho = mixingRho(uniformGroups(workerCount, size), workerCount) ?? Number.NaN;
    expect(rho).toBeCloseTo(expected, 6);
    expect(rho).toBeCloseTo((workerCount - size) / (workerCount - 1), 8);
  });

  it.each<[string, readonly MixingGroup[], number, number]>([
    ['uneven pairs of three', unevenThree, 3, 0.625],
    ['one pair only: the third never meets anybody', [constantGroup(0, 1)], 3, 1],
    ['two pairs that never meet', [constantGroup(0, 1), constantGroup(2, 3)], 4, 1],
    ['everybody at once', [constantGroup(0, 1, 2, 3)], 4, 0],
  ])('of %s', (_, groups, workerCount, expected) => {
    expect(mixingRho(groups, workerCount)).toBeCloseTo(expected, 6);
  });

  it.each<[string, readonly MixingGroup[], number, number]>([
    ['two workers with weights .6 and .4: one group makes them the same', [weighted([0, 0.6], [1, 0.4])], 2, 0],
    ['pairs of four, where worker 0 always weighs .3', pairsWithLightFirst(4, 0.3), 4, 0.74],
  ])('of %s', (_, groups, workerCount, expected) => {
    expect(mixingRho(groups, workerCount)).toBeCloseTo(expected, 6);
  });

  it.each<[string, readonly MixingGroup[], number]>([
    ['uniform pairs of four, constant weights', uniformGroups(4, 2), 4],
    ['pairs of four, where worker 0 always weighs .3', pairsWithLightFirst(4, 0.3), 4],
    ['triples of five, where worker 0 always weighs .05', lightFirst(subsets(5, 3), 0.05), 5],
    ['uneven pairs of three', unevenThree, 3],
  ])('is what disagreement keeps at most in one group, in the mean: %s', (_, groups, workerCount) => {
    const rho = mixingRho(groups, workerCount) ?? Number.NaN;
    const worst = measuredContraction(groups, workerCount);
    expect(worst).toBeLessThanOrEqual(rho + 1e-9);
    // Some replicas come near to it: it is the largest eigenvalue, not merely a bound.
    expect(worst).toBeGreaterThan(0.97 * rho);
  });

  it('is null without groups, and for a single worker', () => {
    expect(mixingRho([], 4)).toBeNull();
    expect(mixingRho([constantGroup(0)], 1)).toBeNull();
  });

  it('equals the eigenvalue of the matrix written out, for weights that are not equal', () => {
    const random = createRandom(7);
    const workerCount = 5;
    const groups = Array.from({ length: 12 }, (): MixingGroup => {
      const first = random.below(workerCount);
      const second = (first + 1 + random.below(workerCount - 1)) % workerCount;
      const weight = 0.1 + 0.8 * random.next();
      return { members: [first, second], weights: [weight, 1 - weight] };
    });
    expect(mixingRho(groups, workerCount)).toBeCloseTo(oracleRho(groups, workerCount), 5);
  });
});

/** The same by the definition: E[W (I - 11^T/N) W^T] as a matrix, whose high power's growth is its largest eigenvalue. */
function oracleRho(groups: readonly MixingGroup[], n: number): number {
  const mean = Array.from({ length: n }, () => Array.from({ length: n }, () => 0));
  for (const group of groups) {
    const w = mixingMatrix(group, n);
    for (let i = 0; i < n; i += 1) {
      for (let j = 0; j < n; j += 1) {
        let sum = 0;
        for (let a = 0; a < n; a += 1) {
          for (let b = 0; b < n; b += 1) {
            sum += (w[i]?.[a] ?? 0) * ((a === b ? 1 : 0) - 1 / n) * (w[j]?.[b] ?? 0);
          }
        }
        (mean[i] as number[])[j] = (mean[i]?.[j] ?? 0) + sum / groups.length;
      }
    }
  }
  let v = Array.from({ length: n }, (_, i) => Math.sin(i + 1));
  let growth = 0;
  for (let power = 0; power < 5000; power += 1) {
    const next = mean.map((row) => row.reduce((sum, value, j) => sum + value * (v[j] as number), 0));
    growth = Math.hypot(...next);
    v = next.map((value) => value / growth);
  }
  return growth;
}

/**
 * No formula at all: replicas of one value each are mixed, and their squared distance from their mean is measured before and
 * after. The largest mean ratio over one group among many random replicas.
 */
function measuredContraction(groups: readonly MixingGroup[], workerCount: number): number {
  const random = createRandom(3);
  let worst = 0;
  for (let trial = 0; trial < 4000; trial += 1) {
    const replicas = Array.from({ length: workerCount }, () => random.normal());
    const after = groups.map((group) => disagreement(mixed(replicas, group)));
    worst = Math.max(worst, after.reduce((sum, value) => sum + value, 0) / after.length / disagreement(replicas));
  }
  return worst;
}

function mixed(replicas: readonly number[], { members, weights }: MixingGroup): readonly number[] {
  const average = members.reduce((sum, member, j) => sum + (weights[j] ?? 0) * (replicas[member] ?? 0), 0);
  return replicas.map((replica, i) => (members.includes(i) ? average : replica));
}

function disagreement(replicas: readonly number[]): number {
  const mean = replicas.reduce((sum, replica) => sum + replica, 0) / replicas.length;
  return replicas.reduce((sum, replica) => sum + (replica - mean) ** 2, 0);
}
