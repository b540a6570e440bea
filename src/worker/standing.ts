/**
 * Where this worker stands, as it would have to tell a controller that it comes back to (protocol.md 8.1). Kept from what passes
 * between the training thread and the controller.
 */
import type { Progress } from '../core/group.js';
import type { WorkerMessage } from '../wire/messages.js';
import type { StepReport } from './thread-messages.js';

type Resume = Extract<WorkerMessage, { type: 'resume' }>;

/** What `resume` says beside who it is, and where it listens. */
export type StandingFacts = Pick<
  Resume,
  'doing' | 'k' | 'ready' | 'finite' | 'localSteps' | 'samples' | 'samplesSinceGroup' | 'lease' | 'finished'
>;

export interface Standing {
  readonly facts: StandingFacts;
  /** Global progress, as far as it is known: what the controller said last, and what this worker did since. */
  readonly progress: Progress;
  /** It holds the model. */
  synced(k: number): void;
  started(): void;
  /** A READY. Nothing has answered it yet, unless it is of no greater k than the replica has. */
  ready(step: { readonly k: number; readonly finite: boolean; readonly report: StepReport }): void;
  /** Its replica has this k now, or had a greater one. A READY of no more is answered. */
  reached(k: number): void;
  /** It holds a group's average, which is finite, with this k. */
  averaged(k: number): void;
  leaseRequested(finished: number | null): void;
  leased(lease: number): void;
  finished(): void;
  /** The controller said so. */
  progressed(progress: Progress): void;
}

export function createStanding(): Standing {
  let facts: StandingFacts = {
    doing: 'joining',
    k: null,
    ready: null,
    finite: true,
    localSteps: 0,
    samples: 0,
    samplesSinceGroup: 0,
    lease: null,
    finished: null,
  };
  let told: Progress = { samples: 0, localSteps: 0 };
  /** Own totals when that was told. */
  let since: Progress = told;

  function change(changes: Partial<StandingFacts>): void {
    facts = { ...facts, ...changes };
  }

  function reached(k: number): void {
    const now = Math.max(k, facts.k ?? 0);
    const isAnswered = facts.ready !== null && facts.ready.k <= now;
    change({ k: now, ready: isAnswered ? null : facts.ready });
  }

  return {
    get facts() {
      return facts;
    },
    get progress() {
      return {
        samples: told.samples + facts.samples - since.samples,
        localSteps: told.localSteps + facts.localSteps - since.localSteps,
      };
    },
    synced: (k) => change({ doing: 'waiting', k }),
    started() {
      if (facts.doing === 'waiting') change({ doing: 'computing' });
    },
    ready({ k, finite, report }) {
      const { steps = 1, samples } = report;
      const isAnswered = facts.k !== null && k <= facts.k;
      change({
        ready: isAnswered ? null : { k, finite },
        finite,
        localSteps: facts.localSteps + steps,
        samples: facts.samples + samples,
        samplesSinceGroup: facts.samplesSinceGroup + samples,
      });
    },
    reached,
    averaged(k) {
      reached(k);
      change({ finite: true, samplesSinceGroup: 0 });
    },
    leaseRequested: (finished) => change({ doing: 'idle', lease: null, finished }),
    leased: (lease) => change({ doing: 'computing', lease, finished: null }),
    finished: () => change({ doing: 'finished', lease: null, finished: null }),
    progressed(progress) {
      told = progress;
      since = { samples: facts.samples, localSteps: facts.localSteps };
    },
  };
}
