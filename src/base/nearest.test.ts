import { describe, expect, it } from 'vitest';
import { editDistance, nearestName, unknownNameMessage } from './nearest.js';

describe('editDistance', () => {
  it.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', 'abc', 0],
    ['kitten', 'sitting', 3],
    ['worker', 'wroker', 2],
  ])('of "%s" and "%s" is %i, both ways', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
    expect(editDistance(b, a)).toBe(distance);
  });
});

describe('nearestName', () => {
  const known = ['partial-reduce', 'all-reduce', 'local-sgd'];

  it.each([
    ['partial-redcue', 'partial-reduce'],
    ['allreduce', 'all-reduce'],
    ['part', 'partial-reduce'],
    ['xyz', null],
    ['', null],
  ])('of "%s" is %s', (typed, expected) => {
    expect(nearestName(typed, known)).toBe(expected);
  });

  it('names it in the message, and all that are known', () => {
    expect(unknownNameMessage('strategy', 'al-reduce', known)).toBe(
      'unknown strategy "al-reduce" (did you mean all-reduce?): expected one of partial-reduce, all-reduce, local-sgd',
    );
  });
});
