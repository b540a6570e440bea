/**
 * A strategy's two pure halves (algorithms.md 6): the coordinator's, which chooses groups, and what the replica's half
 * exchanges. Real runs and simulations use the same code.
 */
import type { CoreConfig, WeightRule } from '../config.js';
import type { GroupFilter } from '../grouping/group-filter.js';
import type { Signal } from '../grouping/signal-queue.js';

/** What a coordinator sees when it is asked for a group. */
export interface GroupingContext {
  /** Signals that may be grouped now, oldest first; at least one. */
  readonly signals: readonly Signal[];
  /** Active workers: those that may still come to the queue, and those in it. */
  readonly activeCount: number;
  /** Joiners that have the model, or are about to, and have not sent their first READY. */
  readonly joinerCount: number;
  readonly filter: GroupFilter;
}

export type GroupDecision =
  | { readonly group: readonly Signal[] }
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
  readonly replica: {
    /** `replica`: the local step comes first, replicas are averaged. `gradient`: gradients are averaged, then applied. */
    readonly exchanges: 'replica' | 'gradient';
  };
}
