/**
 * The training thread's end of the comm thread: starts it, and turns its messages into promises. One request is under
 * way at a time (a training loop is sequential); `finish` and `checkpoint`, which come on their own, are for observers.
 */
import { Worker } from 'node:worker_threads';
import { assert } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import { errorOf } from './failure.js';
import type { CommThreadOptions, FromCommThread, ToCommThread } from './thread-messages.js';

type MessageOf<K extends FromCommThread['type']> = Extract<FromCommThread, { type: K }>;

export interface CommClient {
  send(message: ToCommThread): void;
  /** The next message of one of these types. Rejects when the comm thread has failed or closed (unless `closed` is awaited). */
  next<K extends FromCommThread['type']>(...types: readonly K[]): Promise<MessageOf<K>>;
  /** The oldest message of this type that has come already; null without one. */
  poll<K extends FromCommThread['type']>(type: K): MessageOf<K> | null;
  /** Calls back for every message, before it is handed to whoever awaits it. */
  observe(listener: (message: FromCommThread) => void): void;
  /** Resolves when the thread has ended. */
  readonly ended: Promise<void>;
  /** Ends the thread at once: peers and controller see lost connections. */
  terminate(): Promise<void>;
}

/** They come on their own: who wants to know observes. */
const KEPT_AS_FLAGS: ReadonlySet<FromCommThread['type']> = new Set(['finish', 'left', 'checkpoint']);

interface Waiter {
  readonly types: ReadonlySet<string>;
  resolve(message: FromCommThread): void;
  reject(error: Error): void;
}

/** Starts the comm thread. Errors of the connection reject the first `next`. */
export function startCommClient(options: CommThreadOptions): CommClient {
  const thread = new Worker(new URL('./comm-thread.js', import.meta.url), { workerData: options });
  const listeners: ((message: FromCommThread) => void)[] = [];
  const unclaimed: FromCommThread[] = [];
  let waiter: Waiter | null = null;
  let over: PreduceError | null = null;

  function fail(error: PreduceError): void {
    over ??= error;
    const waiting = waiter;
    waiter = null;
    waiting?.reject(over);
  }

  function settle(message: FromCommThread): void {
    if (waiter?.types.has(message.type)) {
      const { resolve } = waiter;
      waiter = null;
      resolve(message);
    } else if (message.type === 'failed') {
      fail(errorOf(message));
    } else if (message.type === 'closed') {
      const { reason, rejoin: retryable } = message;
      fail(
        new PreduceError('run-ended', `the controller ended this worker's part in the run: ${reason}`, { retryable }),
      );
    } else if (!KEPT_AS_FLAGS.has(message.type)) {
      unclaimed.push(message);
    }
  }

  const ended = new Promise<void>((resolve) => {
    thread.once('exit', () => {
      fail(new PreduceError('worker-failed', 'the comm thread ended unexpectedly'));
      resolve();
    });
  });
  thread.on('message', (message: FromCommThread) => {
    for (const listener of listeners) listener(message);
    settle(message);
  });
  thread.on('error', (error) =>
    fail(new PreduceError('worker-failed', `the comm thread failed: ${error.message}`, { cause: error })),
  );

  function next<K extends FromCommThread['type']>(...types: readonly K[]): Promise<MessageOf<K>> {
    assert(waiter === null, 'a second request while one is under way: await reduce(), lease() and finish() in turn');
    const wanted = new Set<string>(types);
    const found = unclaimed.findIndex((message) => wanted.has(message.type));
    if (found >= 0) return Promise.resolve(unclaimed.splice(found, 1)[0] as MessageOf<K>);
    if (over !== null) return Promise.reject(over);
    return new Promise((resolve, reject) => {
      waiter = { types: wanted, resolve: (message) => resolve(message as MessageOf<K>), reject };
    });
  }

  return {
    send: (message) => thread.postMessage(message),
    next,
    poll<K extends FromCommThread['type']>(type: K) {
      const found = unclaimed.findIndex((message) => message.type === type);
      return found < 0 ? null : (unclaimed.splice(found, 1)[0] as MessageOf<K>);
    },
    observe: (listener) => listeners.push(listener),
    ended,
    terminate: async () => {
      await thread.terminate();
    },
  };
}
