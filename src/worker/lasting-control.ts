/**
 * A worker's connection to the controller that outlasts the connections it is made of (protocol.md 8.1): when one is lost it is made
 * again, and the worker's life resumed, until the controller has been gone for too long. The controller may be another one of the
 * same run by then.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PreduceError } from '../base/errors.js';
import { HEARTBEATS_PER_LIVENESS } from '../wire/limits.js';
import type { ControllerMessage, WorkerMessage } from '../wire/messages.js';
import { connectControl, type ControlConnection, type ControlConnectionOptions } from './control-connection.js';

/** Version of the protocol that has `resume`. */
const RESUME_SINCE_MINOR = 1;

/** Time before the first attempt; doubled up to the interval of heartbeats. */
const RETRY_FIRST_MS = 50;

/** Gone for so many liveness time-outs (10 minutes, if nothing else was said) the controller is not waited for any longer. */
const GIVE_UP_TIMEOUTS = 120;

/** How long the controller may be gone, in ms; `auto`: 120 liveness time-outs. */
export type ControllerTimeout = number | 'auto' | 'never';

export interface LastingControlOptions extends ControlConnectionOptions {
  readonly controllerTimeoutMs: ControllerTimeout;
}

export interface LastingControlHandlers {
  onMessage(message: ControllerMessage): void;
  /** The connection is lost: nothing that is sent is heard. False: this worker cannot come back, it is over. */
  onLost(): boolean;
  /** Resolves when this worker has ended what it cannot take along to another connection. */
  settled(): Promise<void>;
  /** What this life says when it is back. What is sent after it is heard. */
  resume(): Extract<WorkerMessage, { type: 'resume' }>;
  /** It is over; `error` is null after `close()`. Called once. */
  onClose(error: PreduceError | null): void;
}

export interface LastingControl {
  readonly localHost: string;
  /** Whether what is sent is heard, as far as this end knows. */
  readonly connected: boolean;
  send(message: WorkerMessage): void;
  close(): void;
}

type Welcome = Extract<ControllerMessage, { type: 'welcome' }>;

/** Connects for the first time, as `connectControl` does, which throws the same. */
export async function keepControl(
  options: LastingControlOptions,
  handlers: LastingControlHandlers,
): Promise<LastingControl> {
  const closing = new AbortController();
  let welcome: Welcome | null = null;
  let isOver = false;
  /** Null: lost, or not resumed yet. */
  let current: ControlConnection | null = null;

  function end(error: PreduceError | null): void {
    if (isOver) return;
    isOver = true;
    closing.abort();
    handlers.onClose(error);
  }

  function onClose(cause: PreduceError | null): void {
    current = null;
    const isLost = cause?.code === 'connection-lost' && !closing.signal.aborted;
    if (!isLost || welcome === null || welcome.version.minor < RESUME_SINCE_MINOR) return end(cause);
    if (!handlers.onLost()) return end(cause);
    comeBack(welcome, cause).catch(end);
  }

  /** Tries until it is back. Rejects when that cannot be. */
  async function comeBack({ heartbeatMs, runId }: Welcome, cause: PreduceError): Promise<void> {
    const lostMs = performance.now();
    const patienceMs = patience(options.controllerTimeoutMs, heartbeatMs);
    let delayMs = Math.min(RETRY_FIRST_MS, heartbeatMs);
    while (performance.now() - lostMs < patienceMs) {
      // Jitter, so that many workers do not come back in step.
      await sleep(delayMs * (0.5 + Math.random()), undefined, { signal: closing.signal }).catch(() => undefined);
      delayMs = Math.min(2 * delayMs, heartbeatMs);
      if (closing.signal.aborted || (await tryOnce(runId, heartbeatMs))) return;
    }
    throw controllerLost(options.controller, performance.now() - lostMs, cause);
  }

  /** One attempt. Whether it has led to an answer; false: nobody is there yet. */
  async function tryOnce(runId: string, heartbeatMs: number): Promise<boolean> {
    let state: 'new' | 'resumed' | 'closed' = 'new';
    const greeted = createPromise<Welcome | null>();
    let connection: ControlConnection;
    try {
      connection = await connectControl(
        { ...options, connectTimeoutMs: 0 },
        {
          onMessage(message) {
            if (state === 'resumed') return handlers.onMessage(message);
            if (message.type === 'welcome') return greeted.resolve(message);
            // A refusal, which ends this worker.
            handlers.onMessage(message);
          },
          onClose(error) {
            const wasResumed = state === 'resumed';
            state = 'closed';
            greeted.resolve(null);
            if (wasResumed) onClose(error);
          },
        },
      );
    } catch (error) {
      if (error instanceof PreduceError && error.code === 'controller-unreachable') return false;
      throw error;
    }
    const stop = (): void => connection.close();
    closing.signal.addEventListener('abort', stop);
    // It may be paused, and accept connections all the same.
    const giveUp = setTimeout(stop, HEARTBEATS_PER_LIVENESS * heartbeatMs);
    const answer = await greeted.promise;
    clearTimeout(giveUp);
    if (answer !== null) {
      if (answer.runId !== runId) {
        connection.close();
        throw anotherRun(options.controller, runId, answer.runId);
      }
      connection.heartbeat(answer.heartbeatMs);
      await handlers.settled();
    }
    closing.signal.removeEventListener('abort', stop);
    if (closing.signal.aborted) connection.close();
    // It changes while this waits.
    if (closing.signal.aborted || (state as string) === 'closed') return closing.signal.aborted;
    state = 'resumed';
    connection.send(handlers.resume());
    current = connection;
    return true;
  }

  current = await connectControl(options, {
    onMessage(message) {
      if (message.type === 'welcome') {
        welcome = message;
        current?.heartbeat(message.heartbeatMs);
      }
      handlers.onMessage(message);
    },
    onClose,
  });
  return {
    localHost: current.localHost,
    get connected() {
      return current !== null;
    },
    send: (message) => void current?.send(message),
    close() {
      closing.abort();
      if (current !== null) current.close();
      else end(null);
    },
  };
}

/** How long the controller may be gone, in ms. */
function patience(timeoutMs: ControllerTimeout, heartbeatMs: number): number {
  if (timeoutMs === 'never') return Number.POSITIVE_INFINITY;
  return timeoutMs === 'auto' ? GIVE_UP_TIMEOUTS * HEARTBEATS_PER_LIVENESS * heartbeatMs : timeoutMs;
}

function controllerLost(controller: string, goneMs: number, cause: PreduceError): PreduceError {
  return new PreduceError(
    'controller-lost',
    `expected the controller at ${controller} to come back, got nothing for ${(goneMs / 1000).toFixed(1)} s (--controller-timeout): ` +
      'start it again with its --state, then the workers',
    { cause },
  );
}

function anotherRun(controller: string, expected: string, got: string): PreduceError {
  return new PreduceError(
    'another-run',
    `expected the controller of run ${expected} at ${controller}, got one of run ${got}: this worker's replica is not for that; start it anew to join`,
  );
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}

function createPromise<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve: (value) => resolve(value) };
}
