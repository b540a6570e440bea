/**
 * What happens to a run, as the controller's state machine is told. Time comes in with the event.
 *
 * `worker` and `incarnation` together name one life of a worker: an event of an earlier life is ignored (fenced).
 */
import type { GroupId, LeaseId, WorkerId } from '../base/ids.js';

/** One life of a worker. */
export interface Life {
  readonly worker: WorkerId;
  readonly incarnation: number;
}

/** One worker's share in a checkpoint, as it is between two of its steps. */
export interface CheckpointPart {
  readonly worker: WorkerId;
  readonly k: number;
  /** The lease that it has begun, and how many of its samples its replica contains. */
  readonly lease: number | null;
  readonly processed: number;
  /** What it wrote; of no interest to core. */
  readonly bytes: number;
  readonly sha256: string;
}

/** Where a worker stands that comes back on a new connection. It may have gone on alone since. */
export interface Standing {
  /**
   * joining: without the model. waiting: not told to start. computing: between two READYs, or READY where `ready` says so. idle: it
   * waits for a lease. finished: its replica rests for the final average.
   */
  readonly doing: 'joining' | 'waiting' | 'computing' | 'idle' | 'finished';
  /** Its replica's iteration number; null while joining. */
  readonly k: number | null;
  /** Its READY, which nothing has answered. */
  readonly ready: { readonly k: number; readonly finite: boolean } | null;
  readonly finite: boolean;
  /** All that this life has done, steps taken alone and those of `ready` included. */
  readonly localSteps: number;
  readonly samples: number;
  /** Since it held a group's average last: what `--weighting samples` weighs its part by. */
  readonly samplesSinceGroup: number;
  /** The lease that it works on. */
  readonly lease: number | null;
  /** While idle: the lease that it has completed. */
  readonly finished: number | null;
}

export type WorkerEvent =
  /** It holds the model (its own initial one where it was told `seed`, else its donor's) and its iteration number is k. */
  | ({ readonly type: 'synced'; readonly k: number } & Life)
  /** The donor could not hand over the model: choose another. */
  | ({ readonly type: 'transferFailed'; readonly reason: string } & Life)
  /** READY: local steps were taken (`samples` samples, all of them); k counts them. `finite` is the NaN guard's finding. */
  | ({
      readonly type: 'ready';
      readonly k: number;
      /** Default 1. */
      readonly steps?: number;
      readonly samples: number;
      readonly finite: boolean;
    } & Life)
  /** It holds the group's average and has handed over all that it owes. */
  | ({ readonly type: 'done'; readonly group: GroupId } & Life)
  /** It gave the group up (on its own account, or because it was told) and holds its own vector from before. */
  | ({
      readonly type: 'aborted';
      readonly group: GroupId;
      readonly reason: string;
      /** The member that was there and moved nothing, where that is why. */
      readonly stalled?: WorkerId;
    } & Life)
  /** It has nothing to work on. `finished` is the lease that it has just completed, all its steps committed. */
  | ({ readonly type: 'leaseRequested'; readonly finished: LeaseId | null } & Life)
  /** Answer to `askCheckpoint`: its state between two steps is kept. */
  | ({
      readonly type: 'checkpointed';
      readonly checkpoint: number;
      readonly part: Omit<CheckpointPart, 'worker'>;
    } & Life)
  | ({ readonly type: 'checkpointFailed'; readonly checkpoint: number; readonly reason: string } & Life)
  /** It will take no further step (own data used up, or told to stop) but stays for the final average. */
  | ({ readonly type: 'finished' } & Life)
  /** It wants to go: takes effect once its group is done. */
  | ({ readonly type: 'leaving' } & Life)
  /** Its connection closed or a heartbeat is missing. */
  | ({ readonly type: 'suspected'; readonly reason: string } & Life)
  /** The same life is back within the liveness time-out, on the connection that it had. */
  | ({ readonly type: 'resumed' } & Life)
  /** It is known to be dead (its process ended): no need to wait for the time-out. */
  | ({ readonly type: 'lost'; readonly reason: string } & Life);

/** An event without its time. */
export type UntimedEvent =
  | WorkerEvent
  /** A connection passed the checks and wants to be a worker; `ticket` names the connection in the answer. */
  | {
      readonly type: 'joined';
      readonly ticket: number;
      readonly requested: WorkerId | null;
      /** The machine that it is on, as it says. */
      readonly hostname?: string | null;
    }
  /** The connection closed before it was answered. */
  | { readonly type: 'joinWithdrawn'; readonly ticket: number }
  /** A life is back, on another connection, which `ticket` names in the answer. The server knows that it is this life. */
  | ({ readonly type: 'returned'; readonly ticket: number; readonly standing: Standing } & Life)
  /** The run shall end (deadline, target, Ctrl-C): drain, then the final average. */
  | { readonly type: 'stop'; readonly reason: string }
  /** All servers hold the parameters: workers may compute. Only where the strategy uses servers. */
  | { readonly type: 'serversReady' }
  /** A server is gone, and with it a part of the parameters: the run cannot go on. */
  | { readonly type: 'serverLost'; readonly reason: string }
  /** Nothing but time passed. */
  | { readonly type: 'tick' };

export type ControllerEvent = { readonly nowMs: number } & UntimedEvent;
