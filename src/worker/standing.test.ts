import { describe, expect, it } from 'vitest';
import { createStanding, type Standing } from './standing.js';

/** Of a worker that computes, after these READYs. */
function after(...readies: readonly { readonly k: number; readonly finite: boolean }[]): Standing {
  const standing = createStanding();
  standing.synced(0);
  standing.started();
  for (const ready of readies) {
    standing.ready({ ...ready, report: { samples: 10, loss: 1, computeMs: 1, paddingMs: 0, overrun: false } });
  }
  return standing;
}

describe('where a worker stands', () => {
  it('has a READY open until its replica has that k', () => {
    const standing = after({ k: 1, finite: true });
    expect(standing.facts).toMatchObject({ k: 0, ready: { k: 1, finite: true }, localSteps: 1, samples: 10 });
    standing.reached(1);
    expect(standing.facts).toMatchObject({ k: 1, ready: null, samplesSinceGroup: 10 });
  });

  it('is finite with a group average, whatever its own step was, and has brought its samples', () => {
    const standing = after({ k: 1, finite: false });
    expect(standing.facts).toMatchObject({ finite: false, samplesSinceGroup: 10 });
    standing.averaged(4);
    expect(standing.facts).toMatchObject({ k: 4, ready: null, finite: true, samples: 10, samplesSinceGroup: 0 });
  });

  it('keeps the greatest k', () => {
    const standing = after({ k: 1, finite: true });
    standing.averaged(5);
    standing.reached(2);
    expect(standing.facts.k).toBe(5);
  });

  it('counts what it did since the progress of all was told', () => {
    const standing = after({ k: 1, finite: true });
    standing.progressed({ samples: 500, localSteps: 50 });
    expect(standing.progress).toEqual({ samples: 500, localSteps: 50 });
    standing.reached(1);
    standing.ready({
      k: 2,
      finite: true,
      report: { samples: 8, loss: 1, computeMs: 1, paddingMs: 0, overrun: false },
    });
    expect(standing.progress).toEqual({ samples: 508, localSteps: 51 });
  });
});
