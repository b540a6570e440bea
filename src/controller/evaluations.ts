/**
 * The controller's dealings with the evaluator: one evaluation at a time; a mark that comes while one runs replaces the mark
 * that waits, and is stamped when its replicas are pulled, so that accuracy always belongs to its time. The final one saves
 * the model, so the run waits for it: for as long as the evaluator shows a sign of life, or comes again in time after a death.
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
  /** Whether somebody starts one, so that the end of a short run waits for it. */
  readonly expected: boolean;
  /** How long the final evaluation waits for an evaluator that says nothing, in ms. */
  readonly livenessMs: number;
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
  /** Resolves when the final evaluation is in, or cannot be had; at once where the run neither had nor expects an evaluator. */
  requestFinal(wanted: Omit<Wanted, 'final' | 'mark'>): Promise<void>;
  /** Anything that the evaluator says, heartbeats too. */
  onMessage(message: WorkerMessage): void;
  /** To be called a few times per liveness time-out: gives the final evaluation up where nobody is left to do it. */
  checkSilence(): void;
  close(): void;
}

/** Evaluators that may die over the final evaluation before it is given up: it may be what kills them. */
const FINAL_DEATHS_MAX = 3;

interface FinalRequest {
  readonly wanted: Wanted;
  deaths: number;
  settle(): void;
}

export function createEvaluations(dependencies: EvaluationsDependencies): Evaluations {
  let evaluator: ControlPeer | null = null;
  let running: EvaluationMoment | null = null;
  let waiting: Wanted | null = null;
  let lastMark = 0;
  /** Of any evaluator, or when it was first missed; null: the run never had one. */
  let lastHeardMs: number | null = null;
  let final: FinalRequest | null = null;

  function startNext(): void {
    if (evaluator === null || running !== null || waiting === null) return;
    const { mark, progress, workers, timeMs } = waiting;
    running = { mark, final: waiting.final, progress, timeMs: timeMs ?? dependencies.nowMs() };
    waiting = null;
    evaluator.send({
      type: 'evaluate',
      mark,
      final: running.final,
      peers: [...dependencies.peersOf(workers)],
      runKey: dependencies.runKey,
      stateLength: dependencies.stateLength(),
    });
  }

  function settleFinal(): void {
    final?.settle();
    final = null;
    waiting = null;
    running = null;
  }

  function giveUpFinal({ wanted }: FinalRequest, reason: string): void {
    const { mark, progress, timeMs } = wanted;
    dependencies.onFailed({ mark, final: true, progress, timeMs: timeMs ?? dependencies.nowMs() }, reason);
    settleFinal();
  }

  function finish(moment: EvaluationMoment): void {
    running = null;
    if (moment.final) settleFinal();
    else startNext();
  }

  return {
    get connected() {
      return evaluator !== null;
    },
    connect(peer) {
      assert(evaluator === null, 'a second evaluator');
      evaluator = peer;
      lastHeardMs = performance.now();
      startNext();
    },
    disconnect() {
      evaluator = null;
      const lost = running;
      running = null;
      // Its successor has as long to come as a silent one has to speak.
      lastHeardMs = performance.now();
      if (lost?.final !== true || final === null) {
        if (lost !== null) dependencies.onFailed(lost, 'the evaluator is gone');
        return;
      }
      final.deaths += 1;
      if (final.deaths === FINAL_DEATHS_MAX) giveUpFinal(final, `${FINAL_DEATHS_MAX} evaluators died over it`);
      else waiting = final.wanted;
    },
    request(wanted) {
      if (final !== null) return;
      lastMark = wanted.mark;
      waiting = { ...wanted, final: false, timeMs: null };
      startNext();
    },
    requestFinal(wanted) {
      if (wanted.workers.length === 0) return Promise.resolve();
      if (lastHeardMs === null) {
        if (!dependencies.expected) return Promise.resolve();
        lastHeardMs = performance.now();
      }
      return new Promise((settle) => {
        waiting = { ...wanted, mark: lastMark + 1, final: true };
        final = { wanted: waiting, deaths: 0, settle };
        startNext();
        this.checkSilence();
      });
    },
    onMessage(message) {
      lastHeardMs = performance.now();
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
    checkSilence() {
      if (final === null || lastHeardMs === null) return;
      const silentMs = performance.now() - lastHeardMs;
      if (silentMs < dependencies.livenessMs) return;
      giveUpFinal(final, `no sign of life from the evaluator for ${Math.round(silentMs)} ms`);
    },
    close() {
      evaluator?.send({ type: 'close', reason: 'the run is over' });
      evaluator?.close();
    },
  };
}
