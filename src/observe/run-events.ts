/**
 * What happened in a run, in the words of its record: one JSON line each in events.jsonl, and what progress displays,
 * summaries and reports are made from. `timeMs` is on the run's clock: 0 when the workers were told to start,
 * negative before.
 */
import type { GroupId, LeaseId, WorkerId } from '../base/ids.js';
import type { GroupKind } from '../core/group.js';

export type RunEvent = { readonly timeMs: number } & (
  | {
      readonly type: 'workerJoined';
      readonly worker: WorkerId;
      readonly incarnation: number;
      readonly hostname: string;
      readonly pid: number;
    }
  /** It is back on a new connection, with the replica that it had; totals are of this life, steps taken alone included. */
  | {
      readonly type: 'workerResumed';
      readonly worker: WorkerId;
      readonly incarnation: number;
      /** Null: it does not hold the model. */
      readonly k: number | null;
      readonly localSteps: number;
      readonly samples: number;
    }
  /** It has been told to fetch the model from `donor`. */
  | { readonly type: 'transferStarted'; readonly worker: WorkerId; readonly donor: WorkerId }
  /** It holds the model, from `donor` or (null) its own initial one. */
  | { readonly type: 'workerSynced'; readonly worker: WorkerId; readonly k: number; readonly donor: WorkerId | null }
  /** All workers that the run waited for hold the model: the run's clock starts. */
  | { readonly type: 'started'; readonly workers: readonly WorkerId[] }
  | {
      readonly type: 'leased';
      readonly worker: WorkerId;
      readonly lease: LeaseId;
      readonly epoch: number;
      readonly count: number;
    }
  | {
      readonly type: 'ready';
      readonly worker: WorkerId;
      readonly k: number;
      /** Local steps that it reports; left out: one. */
      readonly steps?: number;
      readonly samples: number;
      readonly loss: number | null;
      readonly finite: boolean;
      /** Since the last commit (or start): computing, emulated padding included. */
      readonly computeMs: number;
      readonly paddingMs: number;
      /** The step took longer than the emulated device allows. */
      readonly overrun: boolean;
    }
  | {
      readonly type: 'groupFormed';
      readonly group: GroupId;
      readonly kind: GroupKind;
      readonly members: readonly WorkerId[];
      /** Those of them that went on with what they did; left out: nobody. */
      readonly passive?: readonly WorkerId[];
      readonly weights: readonly number[];
      /** kMax - k of each member. */
      readonly staleness: readonly number[];
      readonly kMax: number;
    }
  /** One member holds the average. */
  | {
      readonly type: 'reduced';
      readonly group: GroupId;
      readonly worker: WorkerId;
      readonly bytesSent: number;
      readonly reduceMs: number;
    }
  | {
      readonly type: 'groupClosed';
      readonly group: GroupId;
      readonly kind: GroupKind;
      readonly committed: readonly WorkerId[];
      readonly aborted: boolean;
    }
  /** A worker went on alone: there was nobody to average with. */
  | { readonly type: 'released'; readonly worker: WorkerId; readonly k: number }
  /** A worker went on after its READY: its strategy has it wait for no group. */
  | { readonly type: 'wentOn'; readonly worker: WorkerId }
  | {
      readonly type: 'evaluated';
      readonly mark: number;
      readonly final: boolean;
      readonly samples: number;
      readonly localSteps: number;
      /** Mean test loss; null where it is not finite. */
      readonly loss: number | null;
      /** Share of test samples classified rightly, 0 to 1. */
      readonly accuracy: number;
      readonly replicas: number;
      readonly cpuMs: number;
    }
  | { readonly type: 'logged'; readonly worker: WorkerId; readonly values: Readonly<Record<string, number>> }
  | { readonly type: 'workerFinished'; readonly worker: WorkerId }
  | { readonly type: 'workerLeft'; readonly worker: WorkerId }
  | { readonly type: 'workerDead'; readonly worker: WorkerId; readonly reason: string }
  /** Something went wrong and was dealt with. */
  | { readonly type: 'fault'; readonly kind: FaultKind; readonly worker: WorkerId | null; readonly message: string }
  /** Every worker has kept its part; progress is what they contain. What comes after is not in the checkpoint. */
  | {
      readonly type: 'checkpointCut';
      readonly checkpoint: number;
      readonly samples: number;
      readonly localSteps: number;
      readonly bytes: number;
    }
  /** The checkpoint is whole: the run can go on from it. */
  | { readonly type: 'checkpointed'; readonly checkpoint: number }
  /** The controller was started again: the run goes on from what it had written down. */
  | {
      readonly type: 'restarted';
      /** Number of this controller's life. */
      readonly term: number;
      readonly samples: number;
      readonly localSteps: number;
    }
  /** The run goes on from a checkpoint; what it had done since is not in the record any more. */
  | {
      readonly type: 'resumed';
      readonly checkpoint: number;
      readonly samples: number;
      readonly localSteps: number;
    }
  | { readonly type: 'stopping'; readonly reason: string }
  /** The final model is held by `holders`; the measured end of the training. */
  | {
      readonly type: 'runEnded';
      readonly reason: string;
      readonly holders: readonly WorkerId[];
      readonly samples: number;
      readonly localSteps: number;
      readonly rho: number | null;
      readonly maxGroupsToConnect: number;
      readonly holdMs: number;
      readonly holdsExpired: number;
    }
);

export type FaultKind =
  | 'suspect'
  | 'death'
  | 'abort'
  | 'violation'
  | 'transfer'
  | 'not-finite'
  | 'clipped'
  | 'hold-expired'
  | 'stalled'
  | 'setback'
  | 'cool-down'
  | 'paused'
  | 'refused'
  | 'evaluation'
  | 'server'
  | 'state'
  | 'checkpoint';
