/**
 * The controller's one port: WebSocket control connections, and `/healthz` over HTTP. Knows frames and limits of the
 * protocol, nothing of its meaning.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { messageOf, PreduceError } from '../base/errors.js';
import { decodeWorkerMessage, encodeControl } from '../wire/control.js';
import { LIMITS } from '../wire/limits.js';
import type { Address, ControllerMessage, WorkerMessage } from '../wire/messages.js';

/** The server's end of one control connection. */
export interface ControlPeer {
  /** Address of the other end, for messages. */
  readonly remote: string;
  send(message: ControllerMessage): void;
  /** Ends the connection once what was sent has gone out. */
  close(): void;
}

export interface ControlPeerHandlers {
  onMessage(message: WorkerMessage): void;
  /** `error`: why, when the other end broke the protocol or the connection broke. Called once. */
  onClose(error: PreduceError | null): void;
}

export interface ControlServerOptions {
  /** Port 0 takes a free one. */
  readonly address: Address;
  readonly accept: (peer: ControlPeer) => ControlPeerHandlers;
  /** Body of `/healthz`. */
  readonly health: () => Readonly<Record<string, unknown>>;
}

export interface ControlServer {
  readonly address: Address;
  close(): Promise<void>;
}

/** How long a connection may take to answer our close before it is cut. */
const CLOSE_GRACE_MS = 2000;

function listen(server: Server, { host, port }: Address): Promise<Address> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const advice =
        error.code === 'EADDRINUSE'
          ? 'another program uses it: choose another --port, or 0 for any free one'
          : `the system says "${error.message}"`;
      reject(
        new PreduceError('port-unavailable', `expected to listen on ${host}:${port}, but ${advice}`, { cause: error }),
      );
    });
    server.listen({ host, port }, () => {
      const bound = server.address();
      resolve({ host, port: typeof bound === 'object' && bound !== null ? bound.port : port });
    });
  });
}

function attach(socket: WebSocket, request: IncomingMessage, accept: ControlServerOptions['accept']): void {
  let failure: PreduceError | null = null;
  const handlers = accept({
    remote: `${request.socket.remoteAddress ?? '?'}:${request.socket.remotePort ?? '?'}`,
    send(message) {
      if (socket.readyState === socket.OPEN) socket.send(encodeControl(message));
    },
    close() {
      socket.close();
      setTimeout(() => socket.terminate(), CLOSE_GRACE_MS).unref();
    },
  });
  socket.on('message', (data, isBinary) => {
    if (failure !== null) return;
    try {
      handlers.onMessage(decodeWorkerMessage(isBinary ? '' : String(data)));
    } catch (error) {
      // Bugs of our own must not be taken for the peer's.
      if (!(error instanceof PreduceError)) throw error;
      failure = error;
      socket.close(1008, error.message.slice(0, 120));
    }
  });
  socket.on('error', (error) => {
    failure ??= new PreduceError('connection-lost', messageOf(error), { cause: error });
  });
  socket.on('close', () => handlers.onClose(failure));
}

/** Starts listening. Throws `port-unavailable`. */
export async function startControlServer(options: ControlServerOptions): Promise<ControlServer> {
  const http = createServer((request, response) => {
    const found = request.url === '/healthz';
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ? options.health() : { error: 'not found' }));
  });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: LIMITS.controlMessageBytesMax,
    perMessageDeflate: false,
  });
  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.handleUpgrade(request, socket, head, (open) => attach(open, request, options.accept));
  });
  const address = await listen(http, options.address);
  return {
    address,
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}
