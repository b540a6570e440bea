/**
 * Keeps what the next controller of a run goes on from, as the run goes. A disk that fails does not end the run: that is told once,
 * and the next fact is written again.
 */
import { messageOf } from '../base/errors.js';
import type { RunFacts } from '../core/facts.js';
import type { RunStore, StoredRun } from './run-store.js';
import type { RunStory } from './run-story.js';

export interface Persistence {
  /** Before anybody can come. Throws `state-unusable`. */
  begin(): void;
  persist(facts: RunFacts): void;
  /** To be called when the run has started. */
  noteRun(): void;
}

export interface PersistenceDependencies {
  /** Null: nothing is kept. */
  readonly store: RunStore | null;
  readonly story: RunStory;
  /** The run, as it is now. */
  readonly describe: () => StoredRun;
}

export function createPersistence({ store, story, describe }: PersistenceDependencies): Persistence {
  let failed = false;
  let saved: StoredRun | null = null;

  function saveRun(to: RunStore): void {
    const run = describe();
    if (run.shape === saved?.shape && run.startedAtMs === saved.startedAtMs) return;
    to.saveRun(run);
    saved = run;
  }

  function attempt(save: (to: RunStore) => void): void {
    if (store === null) return;
    try {
      save(store);
      failed = false;
    } catch (error) {
      if (!failed) story.tell({ type: 'fault', kind: 'state', worker: null, message: messageOf(error) });
      failed = true;
    }
  }

  return {
    begin() {
      if (store === null) return;
      saveRun(store);
      const facts = store.before?.facts ?? null;
      // No two controllers have the same term, however short they live.
      if (facts !== null) store.saveFacts({ ...facts, term: facts.term + 1 });
    },
    persist: (facts) =>
      attempt((to) => {
        saveRun(to);
        to.saveFacts(facts);
      }),
    noteRun: () => attempt(saveRun),
  };
}
