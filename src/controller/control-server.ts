/**
 * The controller's one port: WebSocket control connections, and `/healthz` over HTTP. Knows frames and limits of the
 * protocol, nothing of its meaning.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { messageOf, PreduceError } from '../base/errors.js';
import { decodeWorkerMessage, encodeControl } from '../wire/control.js';
import { LIMITS } from '../wire/limits.js';
import type { Address, ControllerMessage, WorkerMessage } from '../wire/messages.js';
import { closeReason } from './close-reason.js';
import { createMessageRate, createUnprovenConnections, type UnprovenConnections } from './connection-limits.js';

/** The server's end of one control connection. */
export interface ControlPeer {
  /** Address of the other end, for messages. */
  readonly remote: string;
  send(message: ControllerMessage): void;
  /** The other end has shown what it had to: the limits for strangers are no longer its own. */
  prove(): void;
  /** Ends the connection once what was sent has gone out. */
  close(): void;
}

export interface ControlPeerHandlers {
  onMessage(message: WorkerMessage): void;
  /** `error`: why, when the other end broke the protocol or the connection broke. Called once. */
  onClose(error: PreduceError | null): void;
}

/** What the server proves who it is with, both in PEM. */
export interface TlsIdentity {
  /** The certificate, and behind it those that lead to its authority. */
  readonly certificate: string;
  readonly key: string;
}

export interface ControlServerOptions {
  /** Connections are encrypted, and nothing else is served; null (default): not encrypted. */
  readonly tls?: TlsIdentity | null;
  /** Port 0 takes a free one. */
  readonly address: Address;
  readonly accept: (peer: ControlPeer) => ControlPeerHandlers;
  /** A connection that has not sent its HTTP request after this long is closed. */
  readonly requestTimeoutMs: number;
  /** Body of `/healthz`. */
  readonly health: () => Readonly<Record<string, unknown>>;
}

export interface ControlServer {
  readonly address: Address;
  close(): Promise<void>;
}

/** How long a connection may take to answer our close before it is cut. */
const CLOSE_GRACE_MS = 2000;

/** Close codes (RFC 6455, 7.4.1). */
const CLOSE_NORMAL = 1000;
const CLOSE_POLICY = 1008;

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

/** Closes; whoever does not answer within the grace is cut. */
function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, closeReason(reason));
  const cut = setTimeout(() => socket.terminate(), CLOSE_GRACE_MS);
  cut.unref();
  socket.once('close', () => clearTimeout(cut));
}

function gone(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState === socket.CLOSED) resolve();
    else socket.once('close', () => resolve());
  });
}

function lengthOf(data: RawData): number {
  if (Array.isArray(data)) return data.reduce((sum, part) => sum + part.byteLength, 0);
  return data.byteLength;
}

/** One message of a worker. Throws `bad-message`. */
function decodeText(data: RawData, isBinary: boolean): WorkerMessage {
  if (isBinary) throw new PreduceError('bad-message', 'expected a text message of JSON, got a binary one');
  return decodeWorkerMessage(String(data));
}

function socketFailure(error: Error): PreduceError {
  if ((error as NodeJS.ErrnoException).code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') {
    const expected = `expected a control message of at most ${LIMITS.controlMessageBytesMax} bytes`;
    return new PreduceError('bad-message', `${expected}, got a longer one`, { cause: error });
  }
  return new PreduceError('connection-lost', messageOf(error), { cause: error });
}

/** Ends a connection that says much before it has proven itself; returns how to call that off. */
function limitBytes(request: IncomingMessage, end: (error: PreduceError) => void): () => void {
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.byteLength;
    if (bytes <= LIMITS.unprovenBytesMax) return;
    end(
      new PreduceError(
        'bad-message',
        `expected at most ${LIMITS.unprovenBytesMax} bytes before a "hello" that is in order, got more`,
      ),
    );
  };
  // Before the WebSocket gets them, which takes them for a message as soon as they are one.
  request.socket.prependListener('data', count);
  return () => void request.socket.off('data', count);
}

function attach(
  socket: WebSocket,
  request: IncomingMessage,
  { accept, unproven }: Pick<ControlServerOptions, 'accept'> & { readonly unproven: UnprovenConnections },
): void {
  let failure: PreduceError | null = null;
  const rate = createMessageRate(() => performance.now());
  const mayTalk = limitBytes(request, (error) => {
    failure ??= error;
    socket.terminate();
  });
  const handlers = accept({
    prove() {
      mayTalk();
      unproven.prove(request.socket);
    },
    remote: `${request.socket.remoteAddress ?? '?'}:${request.socket.remotePort ?? '?'}`,
    send(message) {
      if (socket.readyState === socket.OPEN) socket.send(encodeControl(message));
    },
    close: () => closeSocket(socket, CLOSE_NORMAL, ''),
  });
  socket.on('message', (data, isBinary) => {
    if (failure !== null) return;
    const pauseMs = rate.take(lengthOf(data));
    if (pauseMs > 0 && !socket.isPaused) {
      socket.pause();
      setTimeout(() => socket.resume(), pauseMs).unref();
    }
    try {
      handlers.onMessage(decodeText(data, isBinary));
    } catch (error) {
      // Bugs of our own must not be taken for the peer's.
      if (!(error instanceof PreduceError)) throw error;
      failure = error;
      closeSocket(socket, CLOSE_POLICY, error.message);
    }
  });
  socket.on('error', (error) => {
    failure ??= socketFailure(error);
  });
  socket.on('close', () => handlers.onClose(failure));
}

/** Throws `bad-option` for a certificate or a key that cannot be used. */
function createHttpServer(timing: ServerOptions, tls: TlsIdentity | null, answer: RequestListener): Server {
  if (tls === null) return createServer(timing, answer);
  const { certificate, key } = tls;
  const handshakeTimeout = timing.requestTimeout ?? 0;
  try {
    return createSecureServer({ ...timing, cert: certificate, key, minVersion: 'TLSv1.2', handshakeTimeout }, answer);
  } catch (error) {
    throw new PreduceError(
      'bad-option',
      `--tls-cert, --tls-key: expected a certificate and its key in PEM, got "${messageOf(error)}"`,
      { cause: error },
    );
  }
}

/** Starts listening. Throws `port-unavailable`, `bad-option`. */
export async function startControlServer(options: ControlServerOptions): Promise<ControlServer> {
  // Node takes whole numbers.
  const requestTimeout = Math.min(Math.ceil(options.requestTimeoutMs), LIMITS.heartbeatMsMax);
  const timing = {
    requestTimeout,
    headersTimeout: requestTimeout,
    connectionsCheckingInterval: Math.ceil(requestTimeout / 2),
  };
  const http = createHttpServer(timing, options.tls ?? null, (request, response) => {
    const found = request.url === '/healthz';
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ? options.health() : { error: 'not found' }));
  });
  const unproven = createUnprovenConnections();
  http.maxConnections = LIMITS.controlConnectionsMax;
  http.on('connection', (socket) => unproven.add(socket));
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: LIMITS.controlMessageBytesMax,
    perMessageDeflate: false,
  });
  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.handleUpgrade(request, socket, head, (open) => attach(open, request, { accept: options.accept, unproven }));
  });
  const address = await listen(http, options.address);
  return {
    address,
    async close() {
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      sockets.close();
      for (const socket of sockets.clients) {
        // Whoever is being told why is given the time to read it.
        if (socket.readyState !== socket.CLOSING) socket.terminate();
      }
      await Promise.all(Array.from(sockets.clients, gone));
      http.closeAllConnections();
      await closed;
    },
  };
}
