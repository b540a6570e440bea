import { describe, expect, it } from 'vitest';
import { createLocalRound } from './local-round.js';

const step = { samples: 10, loss: 1, computeMs: 5, paddingMs: 1, overrun: false };

describe('a local round', () => {
  it('reports its steps as one: sums, the mean loss of the samples, whether any was too slow', () => {
    const round = createLocalRound();
    round.add(step);
    round.add({ samples: 30, loss: 3, computeMs: 7, paddingMs: 0, overrun: true });
    expect([round.steps, round.samples]).toEqual([2, 40]);
    expect(round.take()).toEqual({ steps: 2, samples: 40, loss: 2.5, computeMs: 12, paddingMs: 1, overrun: true });
  });

  it('is empty after its report', () => {
    const round = createLocalRound();
    round.add({ ...step, loss: 9 });
    round.take();
    expect([round.steps, round.samples]).toEqual([0, 0]);
    round.add(step);
    expect(round.take()).toEqual({ steps: 1, ...step });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('reports a loss of %d as unknown', (loss) => {
    const round = createLocalRound();
    round.add(step);
    round.add({ ...step, loss });
    expect(round.take().loss).toBeNull();
  });
});
