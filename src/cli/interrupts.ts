/**
 * Ctrl-C: once drains and saves, twice stops at once.
 */

export interface Interrupts {
  /** Fires at the first one. */
  readonly signal: AbortSignal;
  restore(): void;
}

/** Status of a process that Ctrl-C ended, as shells give it; also of one that drained and saved. */
export const EXIT_INTERRUPTED = 130;

export function catchInterrupts(say: (line: string) => void): Interrupts {
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
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    restore() {
      process.removeListener('SIGINT', onSignal);
      process.removeListener('SIGTERM', onSignal);
    },
  };
}
