/**
 * A hand-driven end of a control connection: sends what a test tells it to, right or wrong, and waits for answers.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { PROTOCOL_VERSION } from '../../src/wire/limits.js';
import type { ControllerMessage, WorkerMessage } from '../../src/wire/messages.js';

export interface ControlClient {
  /** A message as it should be, or anything else, as text or (a Buffer) binary. */
  send(message: WorkerMessage | string | Buffer): void;
  /** The next message of this type; those before it are dropped. Rejects when the connection closes first. */
  next<K extends ControllerMessage['type']>(type: K): Promise<Extract<ControllerMessage, { type: K }>>;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  /** Resolves with true when the other end has answered a ping. */
  answered(): Promise<boolean>;
  /** Cuts the connection with no farewell. */
  terminate(): void;
}

/** `ca`: for a wss:// address, the certificate of the authority to trust. */
export async function connectClient(url: string, ca?: string): Promise<ControlClient> {
  const socket = new WebSocket(url, { perMessageDeflate: false, ...(ca === undefined ? {} : { ca }) });
  const received: ControllerMessage[] = [];
  let wake: () => void = () => undefined;
  let over = false;
  socket.on('message', (data) => {
    received.push(JSON.parse(String(data)) as ControllerMessage);
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => {
      over = true;
      wake();
      resolve({ code, reason: String(reason) });
    });
  });
  await once(socket, 'open');
  // A cut connection is for `closed` to tell.
  socket.on('error', () => undefined);

  return {
    send: (message) =>
      socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message)),
    async next<K extends ControllerMessage['type']>(type: K) {
      for (;;) {
        for (let message = received.shift(); message !== undefined; message = received.shift()) {
          if (message.type === type) return message as Extract<ControllerMessage, { type: K }>;
        }
        if (over) throw new Error(`the connection closed before "${type}" came`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    closed,
    async answered() {
      socket.ping();
      await once(socket, 'pong');
      return true;
    },
    terminate: () => socket.terminate(),
  };
}

export const HELLO: Extract<WorkerMessage, { type: 'hello' }> = {
  type: 'hello',
  version: PROTOCOL_VERSION,
  role: 'worker',
  token: null,
};

/** Nobody listens at its data address: for workers that end before a collective. */
export const JOIN: Extract<WorkerMessage, { type: 'join' }> = {
  type: 'join',
  layout: [{ name: 'x', shape: [4] }],
  exchangeLength: 4,
  stateLength: 4,
  address: { host: '127.0.0.1', port: 9 },
  worker: null,
  pid: 1,
  hostname: 'here',
};
