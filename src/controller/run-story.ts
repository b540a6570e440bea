/**
 * What a run's controller tells of it: events, stamped with the run's clock, which starts when the workers are told to.
 */
import type { RunEvent } from '../observe/run-events.js';

type Unstamped<T> = T extends unknown ? Omit<T, 'timeMs'> : never;

/** A `RunEvent` before it has its time. */
export type UnstampedRunEvent = Unstamped<RunEvent>;

export interface RunStory {
  readonly started: boolean;
  /** The run's clock: stands until `start`. */
  nowMs(): number;
  start(): void;
  /** `timeMs`: where the event is of an earlier moment than now. */
  tell(event: UnstampedRunEvent, timeMs?: number): void;
}

/** `clockStartMs`: what the clock shows at `start`. */
export function createRunStory(onEvent: ((event: RunEvent) => void) | undefined, clockStartMs = 0): RunStory {
  let startedAtMs: number | null = null;
  const nowMs = (): number => clockStartMs + (startedAtMs === null ? 0 : performance.now() - startedAtMs);
  return {
    get started() {
      return startedAtMs !== null;
    },
    nowMs,
    start() {
      startedAtMs = performance.now();
    },
    tell(event, timeMs = nowMs()) {
      onEvent?.({ ...event, timeMs });
    },
  };
}
