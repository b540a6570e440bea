/**
 * Liveness: once the faults are over, a run either takes another step before long, or ends.
 */
import { assert } from '../../base/assert.js';
import type { Scenario } from './scenario.js';

export interface Patience {
  /** A fault, or what follows from it, lasts until then. */
  faultUntil(timeMs: number): void;
  /** Somebody has taken a step. */
  progressed(nowMs: number): void;
  /** Of a run that has started and is not over. */
  check(nowMs: number): void;
}

/** Rounds in which nobody takes a step: a drain, a transfer that fails over, a final average that is made again. */
const IDLE_ROUNDS = 20;
const STEP_MS = 10;
const EXCHANGE_MS = 40;

/** How long nobody may take a step: every suspect is dead by then, and everybody has taken a round several times. */
export function patienceMs({ livenessMs, speedSpread, localSteps, latencyMs, delayMs }: Scenario): number {
  const roundMs = localSteps * STEP_MS * speedSpread + EXCHANGE_MS + 4 * latencyMs;
  return 2 * livenessMs + delayMs + IDLE_ROUNDS * roundMs;
}

export function createPatience(scenario: Scenario): Patience {
  const limitMs = patienceMs(scenario);
  let sinceMs = scenario.horizonMs;
  return {
    faultUntil(timeMs) {
      sinceMs = Math.max(sinceMs, timeMs);
    },
    progressed(nowMs) {
      sinceMs = Math.max(sinceMs, nowMs);
    },
    check(nowMs) {
      assert(
        nowMs - sinceMs <= limitMs,
        `no step for ${(nowMs - sinceMs).toFixed(0)} ms after the last fault, and no end`,
      );
    },
  };
}
