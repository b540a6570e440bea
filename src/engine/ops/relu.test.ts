import { describe, expect, it } from 'vitest';
import { disagreements } from '../../../test/reference/disagreements.js';
import { referenceRelu } from '../../../test/reference/relu.js';
import { relu } from './relu.js';

describe('relu', () => {
  it.each([{ shape: [1] }, { shape: [5, 7] }, { shape: [2, 3, 4, 5] }])(
    'agrees with the reference for shape $shape',
    async ({ shape }) => {
      expect(await disagreements({ xShape: shape, build: relu, reference: referenceRelu() })).toEqual([]);
    },
  );
});
