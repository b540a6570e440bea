/**
 * The pieces of a running controller, as they see each other.
 */
import type { Controller } from '../core/controller.js';
import type { UntimedEvent } from '../core/events.js';
import type { RunFacts } from '../core/facts.js';
import type { Checkpoints } from './checkpoints.js';
import type { Evaluations } from './evaluations.js';
import type { RunStory } from './run-story.js';
import type { Servers } from './servers.js';
import type { Sessions } from './sessions.js';

/** What does not change during a run. */
export interface RunSettings {
  readonly runId: string;
  /** Opens the data ports of the run's workers. */
  readonly runKey: string;
  /** What the secrets of the workers' lives follow from. */
  readonly resumeKey: string;
  /** What a connection must show; null: nothing. */
  readonly token: string | null;
  /** Data connections are encrypted. */
  readonly encrypts: boolean;
  /** Sent to every worker: what the run is made of. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly livenessMs: number;
}

export interface RunParts {
  readonly settings: RunSettings;
  readonly core: Controller;
  readonly sessions: Sessions;
  readonly story: RunStory;
  readonly evaluations: Evaluations;
  readonly servers: Servers;
  readonly checkpoints: Checkpoints;
  /** Gives core an event and has its effects carried out. */
  step(event: UntimedEvent): void;
  /** The workers were told to compute, for the first time. */
  onStarted(): void;
  /** Writes down what the next controller of the run goes on from. Without effect where none can come. */
  persist(facts: RunFacts): void;
  /** The run is over and every worker was let go. */
  onOver(): void;
}
