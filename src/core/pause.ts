/**
 * The pause of a run that has fewer workers than it shall have (algorithms.md 3.3): no group is formed and nobody goes on alone until
 * enough hold the model again. The drain does not wait: a run that shall end ends with whoever is there.
 */
import type { RunState } from './run-state.js';

/** Whether nobody may go on for now; tells when that begins and ends. */
export function isPaused(state: RunState): boolean {
  const { minLiveWorkers } = state.config;
  const count = state.roster.count('able');
  const paused = state.started && state.finishReason === null && count < minLiveWorkers;
  if (paused !== state.paused) {
    state.paused = paused;
    const message = paused
      ? `paused: ${count} of at least ${minLiveWorkers} workers are left, waiting for more to join`
      : `going on with ${count} workers`;
    if (paused || state.finishReason === null)
      state.effects.push({ type: 'log', kind: 'paused', worker: null, message });
  }
  return paused;
}
