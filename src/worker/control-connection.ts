/**
 * The client end of the control protocol: one WebSocket to the controller, every message validated. Used by the comm
 * thread of a worker and by the evaluator.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { messageOf, PreduceError } from '../base/errors.js';
import { decodeControllerMessage, encodeControl } from '../wire/control.js';
import { HEARTBEATS_PER_LIVENESS, LIMITS, PROTOCOL_VERSION } from '../wire/limits.js';
import type { ControllerMessage, WorkerMessage } from '../wire/messages.js';
import { checkCleartext, type Target, tlsOptionsOf, untrusted } from './trust.js';

export interface ControlConnectionOptions extends Target {
  readonly role: 'worker' | 'evaluator' | 'server';
  /** How long to keep trying while nobody listens, in ms. */
  readonly connectTimeoutMs: number;
}

export interface ControlHandlers {
  onMessage(message: ControllerMessage): void;
  /** The connection is over; `error` is null after `close()`. Called once. */
  onClose(error: PreduceError | null): void;
}

export interface ControlConnection {
  /** This machine's address on the route to the controller: where peers can reach it. */
  readonly localHost: string;
  /** False when the connection is over (the message is dropped; `onClose` tells). */
  send(message: WorkerMessage): boolean;
  /** Sends signs of life at this interval, and asks for them: a connection whose other end gives none is lost. */
  heartbeat(everyMs: number): void;
  close(): void;
}

const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 1000;

function openSocket({ controller, trust }: Target): Promise<{ socket: WebSocket; localHost: string }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(controller, {
      ...tlsOptionsOf(trust),
      maxPayload: LIMITS.controlMessageBytesMax,
      perMessageDeflate: false,
      handshakeTimeout: 10_000,
    });
    let localHost = '127.0.0.1';
    socket.once('upgrade', (response) => {
      localHost = response.socket.localAddress ?? localHost;
    });
    socket.once('open', () => {
      socket.removeAllListeners('error');
      resolve({ socket, localHost: localHost.replace(/^::ffff:/, '') });
    });
    socket.once('error', reject);
  });
}

function isRefusedConnection(error: unknown): boolean {
  const code = (error as { code?: string }).code;
  return code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'EHOSTUNREACH' || code === 'ETIMEDOUT';
}

/** A server that expects TLS hangs up on what it takes for noise. */
function hintOf(controller: string, error: unknown): string {
  const { code } = error as { code?: string };
  return code === 'ECONNRESET' && controller.startsWith('ws:') ? '; if it has --tls-cert, use wss:// and --tls-ca' : '';
}

/** Tries until the controller answers; anything but "nobody there yet" ends it at once. */
async function openWithRetries(options: ControlConnectionOptions): Promise<{ socket: WebSocket; localHost: string }> {
  const startedMs = performance.now();
  let delayMs = RETRY_FIRST_MS;
  for (;;) {
    try {
      return await openSocket(options);
    } catch (error) {
      const failure = untrusted(options.controller, error);
      if (failure !== null) throw failure;
      const elapsedMs = performance.now() - startedMs;
      if (!isRefusedConnection(error) || elapsedMs + delayMs > options.connectTimeoutMs) {
        throw new PreduceError(
          'controller-unreachable',
          `expected a Preduce controller at ${options.controller}, got "${messageOf(error)}" for ${Math.round(elapsedMs)} ms: ` +
            `check the address and that \`preduce controller\` runs there${hintOf(options.controller, error)}`,
          { retryable: true, cause: error },
        );
      }
    }
    // Jitter, so that many workers do not come back in step.
    await sleep(delayMs * (0.5 + Math.random()));
    delayMs = Math.min(2 * delayMs, RETRY_MAX_MS);
  }
}

/** Connects and sends `hello`; the answer arrives at `handlers`. Throws `controller-unreachable`, `untrusted`, `bad-option`. */
export async function connectControl(
  options: ControlConnectionOptions,
  handlers: ControlHandlers,
): Promise<ControlConnection> {
  checkCleartext(options);
  const { socket, localHost } = await openWithRetries(options);
  let closeError: PreduceError | null = null;
  let closing = false;
  let beat: NodeJS.Timeout | null = null;
  /** Pings that nothing has answered. Counted, not timed: this process itself may have been paused. */
  let unanswered = 0;
  const heard = (): void => {
    unanswered = 0;
  };

  socket.on('pong', heard);
  socket.on('message', heard);
  socket.on('message', (data, isBinary) => {
    // More may have come along with what could not be read.
    if (closing || closeError !== null) return;
    try {
      handlers.onMessage(decodeControllerMessage(isBinary ? '' : String(data)));
    } catch (error) {
      closeError =
        error instanceof PreduceError ? error : new PreduceError('bad-message', messageOf(error), { cause: error });
      socket.terminate();
    }
  });
  socket.on('error', (error) => {
    closeError ??= new PreduceError('connection-lost', `the connection to the controller failed: ${error.message}`, {
      cause: error,
    });
  });
  socket.on('close', (code) => {
    if (beat !== null) clearInterval(beat);
    if (!closing) {
      closeError ??= new PreduceError(
        'connection-lost',
        `expected the controller at ${options.controller} to stay, got a closed connection (code ${code})`,
      );
    }
    handlers.onClose(closing ? null : closeError);
  });

  function send(message: WorkerMessage): boolean {
    if (socket.readyState !== WebSocket.OPEN) return false;
    socket.send(encodeControl(message));
    return true;
  }

  send({ type: 'hello', version: PROTOCOL_VERSION, role: options.role, token: options.token });
  return {
    localHost,
    send,
    heartbeat(everyMs) {
      if (beat !== null) clearInterval(beat);
      beat = setInterval(() => {
        if (socket.readyState !== WebSocket.OPEN) return;
        if (unanswered >= HEARTBEATS_PER_LIVENESS) {
          const silence = `expected a sign of life from the controller at ${options.controller}, got none for ${unanswered * everyMs} ms`;
          closeError ??= new PreduceError('connection-lost', silence);
          return socket.terminate();
        }
        send({ type: 'heartbeat' });
        socket.ping();
        unanswered += 1;
      }, everyMs);
    },
    close() {
      closing = true;
      socket.close();
    },
  };
}
