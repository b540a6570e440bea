/**
 * Whose turn it is with the published vector: the training thread's, or a collective's.
 */
import { assert } from '../base/assert.js';

export interface Turns {
  /** Resolves when it is the caller's turn, in the order of the calls. */
  take(): Promise<void>;
  give(): void;
}

export function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  let taken = false;
  return {
    take() {
      if (taken) return new Promise((resolve) => waiting.push(resolve));
      taken = true;
      return Promise.resolve();
    },
    give() {
      assert(taken, 'only a turn that was taken can be given');
      const next = waiting.shift();
      if (next === undefined) taken = false;
      else next();
    },
  };
}
