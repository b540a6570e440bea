/**
 * Frames over TCP, and over local sockets between processes of one machine, which cost half as much. A connection that is
 * closed says `bye` first; one that ends without it was lost: destroyed, or its process killed.
 */
import { randomBytes } from 'node:crypto';
import { connect, createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { PreduceError } from '../base/errors.js';
import type { GroupId } from '../base/ids.js';
import { encodeFrameHeader, type Frame, FRAME_HEADER_BYTES, NO_PAYLOAD } from '../wire/frame.js';
import { LIMITS } from '../wire/limits.js';
import type { Address } from '../wire/messages.js';
import { lost } from './lost.js';
import { createReceiver, type Receiver } from './frame-receiver.js';
import { connectTls, createTlsServer, type RunKey } from './tls.js';
import type { Connection, ConnectionHandlers, Listener, Transport } from './transport.js';

export interface TcpTransportOptions {
  /** Whether to use local sockets where both ends can. Default: on Linux, where they leave nothing behind. */
  readonly localSockets?: boolean;
  /** Whether dialled connections read straight into the receiver's memory. Default true; false to measure what it is worth. */
  readonly inPlace?: boolean;
  /** Whether connections are encrypted, local ones too (tls.ts). Default false. */
  readonly encrypts?: boolean;
}

const BYE: Frame = {
  type: 'bye',
  sender: 0,
  incarnation: 0,
  group: 0 as GroupId,
  part: 0,
  offset: 0,
  payload: NO_PAYLOAD,
};

/** A view of the same memory, as sockets take it. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}

function headerOf(frame: Frame): Buffer {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  encodeFrameHeader(frame, new DataView(header.buffer, header.byteOffset, FRAME_HEADER_BYTES));
  return header;
}

/** Frames on a connected socket. `open` gives the handlers, which may need the connection. */
function attach(
  socket: Socket,
  remote: string,
  receiver: Receiver,
  open: (connection: Connection) => ConnectionHandlers,
): Connection {
  let failure: Error | null = null;
  let closed = false;
  /** Either end has said `bye`. */
  let isOver = false;
  const drainWaiters: { resolve(): void; reject(error: Error): void }[] = [];
  socket.setNoDelay(true);

  function send(frame: Frame): Promise<void> {
    if (closed || isOver || socket.destroyed || socket.writableEnded) {
      return Promise.reject(lost(remote, failure ?? new Error('it was closed')));
    }
    const header = headerOf(frame);
    socket.cork();
    socket.write(header);
    if (frame.payload.byteLength > 0) socket.write(bufferOf(frame.payload));
    process.nextTick(() => socket.uncork());
    if (frame.payload.byteLength === 0 && !socket.writableNeedDrain) return Promise.resolve();
    // Resolved once the bytes are the kernel's, so that the payload may be reused.
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      drainWaiters.push(waiter);
      socket.write('', (error) => {
        const position = drainWaiters.indexOf(waiter);
        if (position >= 0) drainWaiters.splice(position, 1);
        if (error) reject(lost(remote, failure ?? error));
        else resolve();
      });
    });
  }

  const connection: Connection = {
    remote,
    get bytesReceived() {
      return receiver.bytesReceived;
    },
    send,
    pause: receiver.pause,
    resume: receiver.resume,
    close() {
      if (isOver || socket.destroyed) return;
      isOver = true;
      socket.end(headerOf(BYE));
    },
    destroy(reason) {
      failure ??= reason;
      socket.destroy();
    },
  };
  const handlers = open(connection);
  receiver.serve({
    socket,
    handlers,
    destroy: (error) => connection.destroy(error),
    onBye() {
      isOver = true;
    },
  });

  socket.on('error', (error) => {
    failure ??= lost(remote, error);
  });
  socket.on('end', () => void socket.end());
  socket.on('close', () => {
    closed = true;
    for (const waiter of drainWaiters.splice(0)) waiter.reject(lost(remote, failure ?? new Error('it was closed')));
    handlers.onClose(failure ?? (isOver ? null : lost(remote, new Error('the other end is gone'))));
  });
  return connection;
}

export function createTcpTransport(options: TcpTransportOptions = {}): Transport {
  const hasSockets = options.localSockets ?? process.platform === 'linux';
  const receivesInPlace = options.inPlace ?? true;
  let runKey: string | null = null;
  const key = options.encrypts === true ? () => runKey : null;
  return {
    setKey(value) {
      runKey = value;
    },
    listen: (address, accept) => listen(address, { socketName: hasSockets ? randomSocketName() : null, key, accept }),
    async dial(address, open, { signal }) {
      const remote = `${address.host}:${address.port}`;
      const common = { remote, receivesInPlace, key, open, signal };
      if (hasSockets && address.socket !== undefined) {
        // Refused at once where the other end is on another machine, or in a network namespace of its own.
        const near = await connectTo({ path: pathOf(address.socket) }, common).catch(() => null);
        if (near !== null) return near;
      }
      return connectTo({ host: address.host, port: address.port }, common);
    },
  };
}

/** Linux's abstract namespace: nothing in the file system, gone with its process. */
function pathOf(socketName: string): string {
  return `\0preduce-${socketName}`;
}

function randomSocketName(): string {
  return randomBytes(16).toString('hex');
}

async function bind(server: Server, where: ListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const name = where.path === undefined ? `${where.host}:${where.port}` : 'a local socket';
      reject(
        new PreduceError('port-unavailable', `expected to listen on ${name}, got "${error.message}"`, { cause: error }),
      );
    });
    server.listen(where, resolve);
  });
}

interface Listening {
  /** Null: no local socket. */
  readonly socketName: string | null;
  /** Null: not encrypted. */
  readonly key: RunKey | null;
  readonly accept: (connection: Connection) => ConnectionHandlers;
}

async function listen({ host, port }: Address, { socketName, key, accept }: Listening): Promise<Listener> {
  const connections = new Set<Connection>();
  /** All that are open, those that are in a handshake included. */
  const sockets = new Set<Socket>();
  function onSocket(socket: Socket): void {
    const receiver = createReceiver();
    const remote =
      socket.remotePort === undefined ? 'a local socket' : `${socket.remoteAddress ?? '?'}:${socket.remotePort}`;
    const connection = attach(socket, remote, receiver, accept);
    socket.on('data', (chunk: Buffer) => receiver.push(chunk));
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  }
  function create(): Server {
    const server = key === null ? createServer(onSocket) : createTlsServer(key, onSocket);
    server.maxConnections = LIMITS.dataConnectionsMax;
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    return server;
  }
  const server = create();
  await bind(server, { host, port });
  const servers = [server];
  const bound = server.address();
  const address = { host, port: typeof bound === 'object' && bound !== null ? bound.port : port };
  if (socketName !== null) {
    const local = create();
    await bind(local, { path: pathOf(socketName) });
    servers.push(local);
  }
  return {
    address: socketName === null ? address : { ...address, socket: socketName },
    async close() {
      for (const connection of connections) {
        connection.destroy(lost(connection.remote, new Error('the listener was closed')));
      }
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((each) => new Promise<void>((resolve) => each.close(() => resolve()))));
    },
  };
}

interface Dial {
  readonly remote: string;
  readonly receivesInPlace: boolean;
  readonly key: RunKey | null;
  readonly open: (connection: Connection) => ConnectionHandlers;
  readonly signal: AbortSignal;
}

async function connectTo(
  where: { readonly host: string; readonly port: number } | { readonly path: string },
  { remote, receivesInPlace, key, open, signal }: Dial,
): Promise<Connection> {
  if (signal.aborted) throw new PreduceError('aborted', `gave up reaching ${remote}`, { cause: signal.reason });
  const receiver = createReceiver();
  // The socket reads straight to where the bytes belong; only a dialling socket can.
  const onread = { buffer: receiver.space, callback: (count: number) => receiver.filled(count) };
  // `signal` as an option of connect would end the socket after the dial, too.
  const target = receivesInPlace ? { ...where, onread } : where;
  const socket = key === null ? connect(target) : connectTls(target, key);
  const abort = (): void => void socket.destroy(new Error('the dial was given up'));
  signal.addEventListener('abort', abort);
  try {
    return await new Promise<Connection>((resolve, reject) => {
      socket.once('error', reject);
      // Attached at once, so that no event of the socket is missed.
      socket.once(key === null ? 'connect' : 'secureConnect', () => {
        socket.off('error', reject);
        const connection = attach(socket, remote, receiver, open);
        if (!receivesInPlace) socket.on('data', (chunk: Buffer) => receiver.push(chunk));
        resolve(connection);
      });
    });
  } catch (error) {
    if (signal.aborted) throw new PreduceError('aborted', `gave up reaching ${remote}`, { cause: error });
    throw lost(remote, error);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
