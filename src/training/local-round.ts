/**
 * What a worker did since its last READY: one local step, or up to H of them in local SGD. It is reported as one.
 */
import type { StepReport } from '../worker/thread-messages.js';

export interface LocalStep {
  readonly samples: number;
  /** Mean over the samples. */
  readonly loss: number;
  readonly computeMs: number;
  readonly paddingMs: number;
  readonly overrun: boolean;
}

export interface LocalRound {
  readonly steps: number;
  readonly samples: number;
  add(step: LocalStep): void;
  /** All of it as one report. The round after it is empty. */
  take(): Required<StepReport>;
}

export function createLocalRound(): LocalRound {
  const taken: LocalStep[] = [];
  const sum = (of: (step: LocalStep) => number): number => taken.reduce((total, step) => total + of(step), 0);
  return {
    get steps() {
      return taken.length;
    },
    get samples() {
      return sum((step) => step.samples);
    },
    add: (step) => taken.push(step),
    take() {
      const samples = sum((step) => step.samples);
      const loss = sum((step) => step.loss * step.samples) / samples;
      const report = {
        steps: taken.length,
        samples,
        loss: Number.isFinite(loss) ? loss : null,
        computeMs: sum((step) => step.computeMs),
        paddingMs: sum((step) => step.paddingMs),
        overrun: taken.some((step) => step.overrun),
      };
      taken.length = 0;
      return report;
    },
  };
}
