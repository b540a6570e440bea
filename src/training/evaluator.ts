/**
 * The evaluator: pulls the workers' replicas when the controller asks, and reports the test accuracy of their mean
 * (algorithms.md 3.6). A process of its own, outside the training path and the same for all strategies.
 */
import { ERROR_CODES, messageOf, PreduceError } from '../base/errors.js';
import { createCommunicator } from '../collective/communicator.js';
import type { Communicator } from '../collective/task.js';
import { batchesInOrder } from '../data/batch-source.js';
import type { Dataset } from '../data/dataset.js';
import type { Model } from '../engine/model.js';
import { createTcpTransport } from '../transport/tcp.js';
import type { ControllerMessage, Peer } from '../wire/messages.js';
import { connectControl, type ControlConnection } from '../worker/control-connection.js';
import type { Target } from '../worker/trust.js';

export interface EvaluatorOptions extends Target {
  readonly model: Model;
  readonly test: Dataset;
  /** Called while `model` holds the final model, before its evaluation is reported. */
  readonly onFinal: (result: { accuracy: number; loss: number }) => Promise<void>;
}

type Evaluate = Extract<ControllerMessage, { type: 'evaluate' }>;

const EVALUATION_BATCH = 500;
const FETCH_TIMEOUT_MS = 10_000;
/** Longest state in vectors of the model's size: replica, two moments of an optimizer (AdamW), one to spare. */
const STATE_VECTORS_MAX = 4;

function refusalOf({ code, message }: Extract<ControllerMessage, { type: 'refused' }>): PreduceError {
  return new PreduceError(ERROR_CODES.find((known) => known === code) ?? 'refused', message);
}

/** Serves until the controller closes the connection. Throws `controller-unreachable`, `refused`, `version-mismatch`, `connection-lost`. */
export async function runEvaluator(options: EvaluatorOptions): Promise<void> {
  /** Made when the controller has told whether data connections are encrypted. */
  let communicator: Promise<Communicator> | null = null;
  let heartbeat: NodeJS.Timeout | null = null;
  try {
    await new Promise<void>((resolve, reject) => {
      let control: ControlConnection | null = null;
      const opening = connectControl(
        { ...options, role: 'evaluator', connectTimeoutMs: 10_000 },
        {
          onMessage(message) {
            if (message.type === 'welcome') {
              communicator = openDataPort(message.encrypts === true);
              communicator.catch(reject);
              heartbeat = setInterval(() => control?.send({ type: 'heartbeat' }), message.heartbeatMs);
            } else if (message.type === 'evaluate') {
              if (communicator === null) throw new PreduceError('bad-message', 'expected "welcome" before "evaluate"');
              void evaluateAndReport(message, communicator, options, (answer) => control?.send(answer));
            } else if (message.type === 'close') {
              control?.close();
            } else if (message.type === 'refused') {
              reject(refusalOf(message));
              control?.close();
            }
          },
          onClose: (error) => (error === null ? resolve() : reject(error)),
        },
      );
      opening.then((open) => {
        control = open;
      }, reject);
    });
  } finally {
    if (heartbeat !== null) clearInterval(heartbeat);
    await (await (communicator as Promise<Communicator> | null)?.catch(() => null))?.close();
  }
}

function openDataPort(encrypts: boolean): Promise<Communicator> {
  return createCommunicator(
    { listen: { host: '127.0.0.1', port: 0 }, serve: () => null },
    { transport: createTcpTransport({ encrypts }) },
  );
}

type Answer = Parameters<ControlConnection['send']>[0];

async function evaluateAndReport(
  message: Evaluate,
  opened: Promise<Communicator>,
  options: EvaluatorOptions,
  answer: (message: Answer) => void,
): Promise<void> {
  const { mark, final } = message;
  const cpuBefore = process.cpuUsage();
  try {
    const communicator = await opened;
    communicator.setIdentity({ role: 'evaluator', runKey: message.runKey });
    const replicas = await meanReplica(message, communicator, options.model);
    const { accuracy, loss } = await evaluateModel(options.model, options.test);
    if (final) await options.onFinal({ accuracy, loss });
    const cpu = process.cpuUsage(cpuBefore);
    const cpuMs = (cpu.user + cpu.system) / 1000;
    answer({ type: 'evaluated', mark, loss: Number.isFinite(loss) ? loss : null, accuracy, replicas, cpuMs });
  } catch (error) {
    answer({ type: 'evaluationFailed', mark, reason: messageOf(error) });
  }
}

/** Throws `bad-layout`: a controller of another model must not make us take memory without bound. */
function checkStateLength(stateLength: number, { parameters, auxiliary }: Model): void {
  const least = parameters.length + auxiliary.length;
  const most = STATE_VECTORS_MAX * least;
  if (stateLength >= least && stateLength <= most) return;
  throw new PreduceError(
    'bad-layout',
    `expected a state of ${least} to ${most} values, as of the evaluator's model, got ${stateLength}: start it with the run's`,
  );
}

/** Writes the mean of the replicas that can be had into the model; the number of them. */
async function meanReplica(message: Evaluate, communicator: Communicator, model: Model): Promise<number> {
  checkStateLength(message.stateLength, model);
  // The final model is the same at every holder.
  const wanted: readonly Peer[] = message.final ? message.peers.slice(0, 1) : message.peers;
  const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
  const fetched = await Promise.allSettled(
    wanted.map(async (peer) => {
      const state = new Float32Array(message.stateLength);
      await communicator.fetchState(peer, state, { signal });
      return state;
    }),
  );
  const states = fetched.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (states.length === 0) {
    const [first] = fetched;
    throw new PreduceError(
      'evaluation-failed',
      `no replica could be fetched: ${first?.status === 'rejected' ? messageOf(first.reason) : 'no worker is left'}`,
    );
  }
  writeMean(states, 0, model.parameters);
  writeMean(states, model.parameters.length, model.auxiliary);
  return states.length;
}

/** Writes the mean of the states' values from `start` on. */
function writeMean(states: readonly Float32Array[], start: number, into: Float32Array): void {
  for (let i = 0; i < into.length; i += 1) {
    let sum = 0;
    for (const state of states) sum += state[start + i] as number;
    into[i] = sum / states.length;
  }
}

/** Mean loss and share of rightly classified samples over a whole data set. */
export async function evaluateModel(model: Model, dataset: Dataset): Promise<{ accuracy: number; loss: number }> {
  let correct = 0;
  let lossSum = 0;
  for (const batch of batchesInOrder(dataset, EVALUATION_BATCH)) {
    const result = await model.evaluate(batch);
    correct += result.correct;
    lossSum += result.loss * batch.count;
  }
  return { accuracy: correct / dataset.sampleCount, loss: lossSum / dataset.sampleCount };
}
