/**
 * The controller's dealings with the evaluator: one evaluation at a time; a mark that comes while one runs replaces the mark
 * that waits, and is stamped when its replicas are pulled, so that accuracy always belongs to its time.
 */
import { assert } from '../base/assert.js';
import type { WorkerId } from '../base/ids.js';
import type { Progress } from '../core/group.js';
import type { Peer, WorkerMessage } from '../wire/messages.js';
import type { ControlPeer } from './control-server.js';

type Evaluated = Extract<WorkerMessage, { type: 'evaluated' }>;

/** An evaluation and the moment that it is of. */
export interface EvaluationMoment {
  readonly mark: number;
  readonly final: boolean;
  readonly progress: Progress;
  readonly timeMs: number;
}

interface Wanted {
  readonly mark: number;
  readonly final: boolean;
  readonly progress: Progress;
  readonly workers: readonly WorkerId[];
  /** The final evaluation is of the moment at which training ended, not of when the evaluator got to it. */
  readonly timeMs: number | null;
}

export interface EvaluationsDependencies {
  readonly nowMs: () => number;
  /** Those of the workers that can be reached. */
  readonly peersOf: (workers: readonly WorkerId[]) => readonly Peer[];
  readonly runKey: string;
  readonly stateLength: () => number;
  readonly onEvaluated: (moment: EvaluationMoment, result: Evaluated) => void;
  readonly onFailed: (moment: EvaluationMoment, reason: string) => void;
}

export interface Evaluations {
  /** Whether the run has an evaluator now. */
  readonly connected: boolean;
  connect(peer: ControlPeer): void;
  disconnect(): void;
  request(wanted: Omit<Wanted, 'final' | 'timeMs'>): void;
  /** Resolves when the final evaluation is in, or cannot be had. */
  requestFinal(wanted: Omit<Wanted, 'final' | 'mark'>): Promise<void>;
  onMessage(message: WorkerMessage): void;
  close(): void;
}

export function createEvaluations(dependencies: EvaluationsDependencies): Evaluations {
  let evaluator: ControlPeer | null = null;
  let running: EvaluationMoment | null = null;
  let waiting: Wanted | null = null;
  let lastMark = 0;
  let settleFinal: (() => void) | null = null;

  function startNext(): void {
    if (evaluator === null || running !== null || waiting === null) return;
    const { mark, final, progress, workers, timeMs } = waiting;
    waiting = null;
    running = { mark, final, progress, timeMs: timeMs ?? dependencies.nowMs() };
    evaluator.send({
      type: 'evaluate',
      mark,
      final,
      peers: [...dependencies.peersOf(workers)],
      runKey: dependencies.runKey,
      stateLength: dependencies.stateLength(),
    });
  }

  function finish(moment: EvaluationMoment): void {
    running = null;
    if (moment.final) settleFinal?.();
    startNext();
  }

  return {
    get connected() {
      return evaluator !== null;
    },
    connect(peer) {
      assert(evaluator === null, 'a second evaluator');
      evaluator = peer;
      startNext();
    },
    disconnect() {
      evaluator = null;
      const lost = running;
      running = null;
      if (lost !== null) dependencies.onFailed(lost, 'the evaluator is gone');
      settleFinal?.();
    },
    request(wanted) {
      if (waiting?.final === true) return;
      lastMark = wanted.mark;
      waiting = { ...wanted, final: false, timeMs: null };
      startNext();
    },
    requestFinal(wanted) {
      if (evaluator === null || wanted.workers.length === 0) return Promise.resolve();
      return new Promise((resolve) => {
        settleFinal = resolve;
        waiting = { ...wanted, mark: lastMark + 1, final: true };
        startNext();
      });
    },
    onMessage(message) {
      const moment = running;
      if (moment === null) return;
      if (message.type === 'evaluated' && message.mark === moment.mark) {
        dependencies.onEvaluated(moment, message);
        finish(moment);
      } else if (message.type === 'evaluationFailed' && message.mark === moment.mark) {
        dependencies.onFailed(moment, message.reason);
        finish(moment);
      }
    },
    close() {
      evaluator?.send({ type: 'close', reason: 'the run is over' });
      evaluator?.close();
    },
  };
}
