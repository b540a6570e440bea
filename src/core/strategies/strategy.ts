/**
 * A strategy's two pure halves (algorithms.md 6): the coordinator's, which chooses groups, and what the replica's half
 * exchanges. Real runs and simulations use the same code.
 */
import type { WorkerId } from '../../base/ids.js';
import type { Random } from '../../base/random.js';
import type { CoreConfig, WeightRule } from '../config.js';
import type { GroupFilter } from '../grouping/group-filter.js';
import type { Signal } from '../grouping/signal-queue.js';

/** What a coordinator sees when it is asked for a group. */
export interface GroupingContext {
  /** Signals that may be grouped now, oldest first; at least one. */
  readonly signals: readonly Signal[];
  /** Active workers, ascending: those that may still come to the queue, and those in it. */
  readonly active: readonly WorkerId[];
  /**
   * Joiners that have the model, or are about to, and have not sent their first READY; after a restart of the controller also those
   * who were in the run and have not come back.
   */
  readonly joinerCount: number;
  readonly filter: GroupFilter;
  /** What a strategy with servers goes by. */
  readonly pulls: Pulls;
  readonly passives: Passives;
  /** Random numbers for this group. */
  draw(): Random;
}

/** Who has which of the servers' parameters, counted in updates; the servers apply groups in the order in which they were formed. */
export interface Pulls {
  /** Updates that the servers have been told to make. */
  readonly updates: number;
  /** Updates contained in what this worker has pulled: its gradient is of that moment. */
  pulledAt(worker: Signal['worker']): number;
  /** The active worker that has completed the fewest iterations; null where nobody is active. */
  slowest(): { readonly worker: Signal['worker']; readonly k: number } | null;
}

/** Workers whose comm threads can take part in a group while they do something else. */
export interface Passives {
  /** Those whose last group is not over. */
  readonly busyCount: number;
  /** All, ascending, without those whose signals may be grouped now. Costs their number, which nothing else here does. */
  list(): readonly WorkerId[];
  /** Those of odd numbers that may come to the queue. */
  readonly oddCount: number;
  /** One of those, in no group and, where that is asked for, with a finite replica, drawn; null: there is none. */
  drawFreeOdd(random: Random, which: { readonly mustBeFinite: boolean }): WorkerId | null;
}

/** Signals that go together. */
export interface ChosenGroup {
  readonly group: readonly Signal[];
  /** Members besides those that have sent their signals. */
  readonly passive?: readonly WorkerId[];
  /** One a signal, where they are not those of the weight rule; they need not sum to 1. */
  readonly weights?: readonly number[];
}

export type GroupDecision =
  | ChosenGroup
  /** The only active worker goes on by itself. */
  | { readonly alone: Signal }
  /** `held`: a full queue waits for connectivity; it must not wait for ever. */
  | { readonly wait: string; readonly held: boolean };

export interface Strategy {
  chooseGroup(context: GroupingContext, config: CoreConfig): GroupDecision;
  weights(config: CoreConfig): WeightRule;
  /** Local steps that a worker may take from one READY to the next; left out: one. */
  stepsPerRound?(config: CoreConfig): number;
  /** Whether groups must be kept connected, and joiners taken only between rounds. */
  readonly synchronous: boolean;
  /**
   * Whether the parameters lie at servers: a group's weighted gradients are applied there, and its members get the result. Groups
   * of one are normal. Default false.
   */
  readonly usesServers?: boolean;
  /**
   * Who takes part in groups while it computes. `odd-workers`: they never wait for a group. `everybody`: of all rounds, in order; a
   * worker waits only for the first round after its replica's. Left out: nobody does.
   */
  readonly passive?: 'odd-workers' | 'everybody';
  readonly replica: {
    /** `replica`: the local step comes first, replicas are averaged. `gradient`: gradients are averaged, then applied. */
    readonly exchanges: 'replica' | 'gradient';
  };
}
