/**
 * What a run has told so far, and a way to wait for what it will tell.
 */

export interface EventLog<E> {
  /** In the order in which they came. */
  readonly events: readonly E[];
  add(event: E): void;
  /** Calls back synchronously with each event to come. */
  onEvent(listener: (event: E) => void): void;
  /** The first event, past or future, that fits. */
  when(fits: (event: E) => boolean): Promise<E>;
}

export function createEventLog<E>(): EventLog<E> {
  const events: E[] = [];
  const listeners = new Set<(event: E) => void>();
  return {
    events,
    add(event) {
      events.push(event);
      for (const listener of listeners) listener(event);
    },
    onEvent: (listener) => void listeners.add(listener),
    when(fits) {
      const found = events.find(fits);
      if (found !== undefined) return Promise.resolve(found);
      return new Promise((resolve) => {
        const listener = (event: E): void => {
          if (!fits(event)) return;
          listeners.delete(listener);
          resolve(event);
        };
        listeners.add(listener);
      });
    },
  };
}
