/**
 * A workload of the engine as the problem of a simulation: real gradients, and the accuracy of the mean replica, in virtual time. The
 * engine answers when it is done, the simulation takes no breath: the engine sits in a thread of its own, and the simulation sleeps
 * until it has answered. So a simulation is the same plain function with an engine as without.
 */
import { once } from 'node:events';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { PreduceError } from '../../base/errors.js';
import { findWorkload } from '../../training/workload.js';
import type { Problem, ProblemOptions, ProblemSource } from '../problem.js';
import { type Failure, type Opened, type Question, STATE, type ThreadOptions } from './thread-messages.js';

export interface OpenWorkload extends ProblemSource {
  /** Ends the thread; its problems cannot be used afterwards. */
  close(): Promise<void>;
}

const UINT32 = 2 ** 32;
/** Far above any batch's or evaluation's time: the thread has gone. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;

/** Loads data and engine. Throws `bad-option`, `data-missing`, `bad-data`, `engine-missing`. */
export async function openWorkload(name: string, dataDirectory: string | null = null): Promise<OpenWorkload> {
  const { defaults } = findWorkload(name);
  const { port1: failures, port2 } = new MessageChannel();
  const thread = new Worker(new URL('workload-thread.js', import.meta.url), {
    workerData: { workload: name, dataDirectory, failures: port2 } satisfies ThreadOptions,
    transferList: [port2],
  });
  const [opened] = (await once(thread, 'message')) as [Opened | Failure];
  if ('code' in opened) throw errorOf(opened);
  // Nobody waits for it once the simulation is over.
  thread.unref();
  const { vectors, sampleCount } = opened;
  const { state, parameters, gradient: answered, evaluation } = vectors;

  function ask(question: Question): void {
    Atomics.store(state, 0, STATE.asked);
    thread.postMessage(question);
    const outcome = Atomics.wait(state, 0, STATE.asked, ANSWER_TIMEOUT_MS);
    if (outcome === 'timed-out')
      throw new PreduceError('engine-failed', `${name}: expected an answer of the engine, got none`);
    if (Atomics.load(state, 0) === STATE.failed) throw errorOf(receiveMessageOnPort(failures)?.message as Failure);
  }

  function create({ seed, batchSamples }: ProblemOptions): Problem {
    ask({ type: 'reset', seed });
    const initial = parameters.slice();
    const samples = new Uint32Array(batchSamples);
    return {
      dimension: initial.length,
      initial: () => initial.slice(),
      gradient(x, _worker, draws, into) {
        for (let i = 0; i < batchSamples; i += 1) samples[i] = draws.below(sampleCount);
        parameters.set(x);
        ask({ type: 'gradient', samples, seed: draws.below(UINT32) });
        into.set(answered);
      },
      evaluate(x) {
        parameters.set(x);
        ask({ type: 'evaluate' });
        const [loss = Number.NaN, accuracy = Number.NaN] = evaluation;
        return { loss, accuracy };
      },
    };
  }

  return {
    name,
    dimension: parameters.length,
    modelBytes: parameters.byteLength,
    defaults,
    hasAccuracy: true,
    create,
    async close() {
      await thread.terminate();
    },
  };
}

function errorOf({ code, message }: Failure): PreduceError {
  return new PreduceError(code, message);
}
