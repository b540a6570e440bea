/**
 * What the controller's state machine wants done: data that the server carries out (and the simulator, and tests).
 */
import type { GroupId, WorkerId } from '../base/ids.js';
import type { CheckpointPart, Life } from './events.js';
import type { RunFacts } from './facts.js';
import type { Group, Lease, LedgerState, Progress } from './group.js';

export type Effect =
  /** Answer to `joined`: the connection `ticket` is now this worker. */
  | ({ readonly type: 'admit'; readonly ticket: number } & Life)
  /** Answer to `joined`: not taken, and why (the run is over, the number is taken by a living worker). */
  | { readonly type: 'refuse'; readonly ticket: number; readonly reason: string }
  /** Answer to `returned`: the connection `ticket` is this worker's from now on. What it says it is doing, it does. */
  | ({ readonly type: 'welcomeBack'; readonly ticket: number; readonly progress: Progress } & Life)
  /** Answer to `returned`: that life is over. `rejoin`: the worker may come as a new one. */
  | { readonly type: 'returnRefused'; readonly ticket: number; readonly reason: string; readonly rejoin: boolean }
  /** Comes first: to be written down before anything else is done, so that the next controller of the run knows of it. */
  | { readonly type: 'persist'; readonly facts: RunFacts }
  /** The first worker's own initial model is the run's model; it answers `synced`. */
  | ({ readonly type: 'seed' } & Life)
  /** The joiner shall fetch the model from the donor; it answers `synced` or `transferFailed`. */
  | { readonly type: 'transfer'; readonly joiner: Life; readonly donor: Life }
  /** The worker may compute (again): enough workers are there, or a lease came back. */
  | ({ readonly type: 'start' } & Life)
  /** Send GROUP to every member. */
  | { readonly type: 'formGroup'; readonly group: Group; readonly progress: Progress }
  /** The group is given up: tell these members, who answer `aborted` (or `done`, if they were done already). `committed` were done. */
  | {
      readonly type: 'abortGroup';
      readonly group: GroupId;
      readonly members: readonly Life[];
      readonly committed: readonly WorkerId[];
      readonly reason: string;
    }
  /** Every member has reported: the group is over. `committed` members hold the average. */
  | {
      readonly type: 'groupClosed';
      readonly group: Group;
      readonly committed: readonly WorkerId[];
      readonly aborted: boolean;
    }
  /** The worker goes on alone with its own replica: there is nobody to average with. It takes `k`. */
  | ({ readonly type: 'release'; readonly k: number; readonly progress: Progress } & Life)
  /** A worker whose READY waits for no group. It knows; this is for displays. */
  | ({ readonly type: 'wentOn' } & Life)
  | ({ readonly type: 'lease'; readonly lease: Lease; readonly progress: Progress } & Life)
  /** No further local step: answer `finished` when the current one's reduce is over, keep the replica for the final average. */
  | ({ readonly type: 'finish'; readonly reason: string } & Life)
  /** Its leave took effect: it may close. */
  | ({ readonly type: 'left' } & Life)
  /** Declared dead; whatever that life still sends is fenced. */
  | ({ readonly type: 'dead'; readonly reason: string } & Life)
  /** It broke the protocol: close its connection with this message. */
  | ({ readonly type: 'violation'; readonly message: string } & Life)
  /** Global progress passed an evaluation mark: evaluate the mean of these workers' replicas. */
  | {
      readonly type: 'evaluate';
      readonly mark: number;
      readonly progress: Progress;
      readonly workers: readonly WorkerId[];
    }
  /** Each of these shall answer `checkpointed`, of a moment between two steps at which its k is `fromK` at least, or of its end. */
  | {
      readonly type: 'askCheckpoint';
      readonly checkpoint: number;
      readonly fromK: number;
      readonly workers: readonly Life[];
    }
  /** Everybody has answered: progress and ledger are what the parts contain. */
  | {
      readonly type: 'checkpoint';
      readonly checkpoint: number;
      readonly parts: readonly CheckpointPart[];
      readonly progress: Progress;
      readonly ledger: LedgerState | null;
    }
  /** A checkpoint that will not be; the next one is asked for in its time. */
  | {
      readonly type: 'checkpointFailed';
      readonly checkpoint: number;
      readonly worker: WorkerId;
      readonly reason: string;
    }
  /** The final average is held by `holders` (empty: no worker was left to hold one, or no replica is finite). The last effect of a run. */
  | {
      readonly type: 'runEnded';
      readonly reason: string;
      readonly holders: readonly WorkerId[];
      readonly progress: Progress;
    }
  /** What people shall know. */
  | {
      readonly type: 'log';
      readonly kind: 'hold-expired' | 'stalled' | 'setback' | 'cool-down' | 'paused';
      readonly worker: WorkerId | null;
      readonly message: string;
    };
