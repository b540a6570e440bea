import { describe, expect, it } from 'vitest';
import { createLossCurve } from './loss-curve.js';
import { distanceFromMean, meanOf } from './mean-replica.js';
import type { Problem } from './problem.js';

/** The loss is the first parameter. */
const identity: Problem = {
  dimension: 1,
  initial: () => new Float32Array(1),
  gradient: () => undefined,
  evaluate: (x) => ({ loss: x[0] as number, accuracy: null }),
};

function curveOf(losses: readonly number[], target: number | null): ReturnType<typeof createLossCurve> {
  const curve = createLossCurve(identity, target === null ? null : { of: 'loss', value: target });
  losses.forEach((loss, i) => {
    curve.add({ timeMs: 10 * i, samples: i, localSteps: i }, [Float32Array.of(loss)]);
  });
  return curve;
}

describe('createLossCurve', () => {
  it('evaluates the mean replica', () => {
    const curve = createLossCurve(identity, null);
    curve.add({ timeMs: 1, samples: 2, localSteps: 3 }, [Float32Array.of(1), Float32Array.of(4)]);
    expect(curve.points).toEqual([{ timeMs: 1, samples: 2, localSteps: 3, loss: 2.5, accuracy: null }]);
  });

  it.each([
    ['between two evaluations', [4, 2, 1], 3, 5],
    ['the first time only', [4, 2, 4, 2], 3, 5],
    ['at the first evaluation', [2, 1], 3, 0],
    ['not at all', [4, 3.5], 3, null],
    ['without a target', [4, 0], null, null],
    ['never where the loss is not a number', [Number.NaN, Number.NaN], 3, null],
  ])('finds when the target was reached: %s', (_, losses, target, expected) => {
    expect(curveOf(losses, target).targetMs).toBe(expected);
  });
});

describe('a target accuracy', () => {
  const classifier: Problem = { ...identity, evaluate: (x) => ({ loss: 0, accuracy: x[0] as number }) };

  it.each([
    ['between two evaluations', [0.5, 0.75, 1], 0.875, 15],
    ['at the first evaluation', [0.5, 1], 0.5, 0],
    ['not at all', [0.5, 0.75], 0.8125, null],
  ])('is reached from below: %s', (_, accuracies, value, expected) => {
    const curve = createLossCurve(classifier, { of: 'accuracy', value });
    accuracies.forEach((accuracy, i) => {
      curve.add({ timeMs: 10 * i, samples: i, localSteps: i }, [Float32Array.of(accuracy)]);
    });
    expect(curve.targetMs).toBe(expected);
  });

  it('is never reached where nothing is classified', () => {
    const curve = createLossCurve(identity, { of: 'accuracy', value: 0.1 });
    curve.add({ timeMs: 0, samples: 0, localSteps: 0 }, [Float32Array.of(0)]);
    expect(curve.targetMs).toBeNull();
  });
});

describe('mean of replicas', () => {
  it('is taken value by value', () => {
    expect([...meanOf([Float32Array.of(1, 2), Float32Array.of(3, -2)])]).toEqual([2, 0]);
  });

  // Distances 5 and 5 from the mean (0, 0).
  it('is what distances are measured from', () => {
    expect(distanceFromMean([Float32Array.of(3, 4), Float32Array.of(-3, -4)])).toBeCloseTo(5, 9);
    expect(distanceFromMean([Float32Array.of(3, 4)])).toBe(0);
  });
});
