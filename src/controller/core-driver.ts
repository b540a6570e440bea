/**
 * Drives the state machine of core: gives it events with their time, has its effects carried out, and wakes it when it
 * waits for time to pass.
 */
import type { Controller } from '../core/controller.js';
import type { Effect } from '../core/effects.js';
import type { UntimedEvent } from '../core/events.js';
import { LIMITS } from '../wire/limits.js';

export interface CoreDriver {
  /** All effects of one event are carried out before those of the next, also where carrying out one brings another event. */
  step(event: UntimedEvent): void;
  close(): void;
}

export function createCoreDriver(core: Controller, carryOut: (effect: Effect) => void): CoreDriver {
  const events: UntimedEvent[] = [];
  let stepping = false;
  let closed = false;
  let timer: NodeJS.Timeout | null = null;

  /** One timer for what core waits for. */
  function schedule(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const deadlineMs = core.nextDeadlineMs();
    if (deadlineMs === null || closed) return;
    const delayMs = Math.max(1, Math.ceil(deadlineMs - performance.now()));
    // Timers take no more; a tick that is early changes nothing.
    timer = setTimeout(() => step({ type: 'tick' }), Math.min(delayMs, LIMITS.heartbeatMsMax));
  }

  function step(event: UntimedEvent): void {
    events.push(event);
    if (stepping) return;
    stepping = true;
    try {
      for (let next = events.shift(); next !== undefined; next = events.shift()) {
        for (const effect of core.step({ ...next, nowMs: performance.now() })) carryOut(effect);
      }
    } finally {
      stepping = false;
    }
    schedule();
  }

  return {
    step,
    close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
