/**
 * Ctrl-C: once drains and saves, twice stops at once. A termination is the same, unless it leaves the run to another process.
 */

export interface Interrupts {
  /** Fires at the first one. */
  readonly signal: AbortSignal;
  restore(): void;
}

/** Status of a process that Ctrl-C ended, as shells give it; also of one that drained and saved. */
export const EXIT_INTERRUPTED = 130;

/** Status of a process that a termination ended. */
const EXIT_TERMINATED = 143;

export interface InterruptOptions {
  /** What to say where a termination leaves the run to another process; null (default): it is as Ctrl-C. */
  readonly leaving?: string | null;
}

export function catchInterrupts(say: (line: string) => void, { leaving = null }: InterruptOptions = {}): Interrupts {
  const controller = new AbortController();
  const onSignal = (): void => {
    // The exit handler of the run ends the child processes.
    if (controller.signal.aborted) {
      say('stopped at once: no model was saved');
      process.exit(EXIT_INTERRUPTED);
    }
    say('interrupted: draining and saving; once more stops at once');
    controller.abort();
  };
  const onTermination = (): void => {
    if (leaving === null) return onSignal();
    // Nothing is told to the workers: to them this is a controller that died.
    say(leaving);
    process.exit(EXIT_TERMINATED);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onTermination);
  return {
    signal: controller.signal,
    restore() {
      process.removeListener('SIGINT', onSignal);
      process.removeListener('SIGTERM', onTermination);
    },
  };
}
