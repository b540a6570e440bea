/**
 * Frames over TCP.
 */
import { createServer, connect, type Server, type Socket } from 'node:net';
import { messageOf, PreduceError } from '../base/errors.js';
import { createFrameDecoder, encodeFrameHeader, type Frame, FRAME_HEADER_BYTES } from '../wire/frame.js';
import type { Address } from '../wire/messages.js';
import type { Connection, ConnectionHandlers, Listener, Transport } from './transport.js';

function lost(remote: string, cause: unknown): PreduceError {
  return new PreduceError('connection-lost', `the connection to ${remote} is lost: ${messageOf(cause)}`, {
    retryable: true,
    cause,
  });
}

/** A view of the same memory, as sockets take it. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}

/** Frames on a connected socket. `open` gives the handlers, which may need the connection. */
function attach(socket: Socket, open: (connection: Connection) => ConnectionHandlers): Connection {
  const remote = `${socket.remoteAddress ?? '?'}:${socket.remotePort ?? '?'}`;
  const decoder = createFrameDecoder();
  let failure: Error | null = null;
  let closed = false;
  const drainWaiters: { resolve(): void; reject(error: Error): void }[] = [];
  socket.setNoDelay(true);

  function send(frame: Frame): Promise<void> {
    if (closed || socket.destroyed || socket.writableEnded) {
      return Promise.reject(lost(remote, failure ?? new Error('it was closed')));
    }
    const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
    encodeFrameHeader(frame, new DataView(header.buffer, header.byteOffset, FRAME_HEADER_BYTES));
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
        if (error) reject(lost(remote, error));
        else resolve();
      });
    });
  }

  const connection: Connection = {
    remote,
    send,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => void socket.end(),
    destroy(reason) {
      failure ??= reason;
      socket.destroy();
    },
  };
  const handlers = open(connection);
  socket.on('data', (chunk: Buffer) => {
    try {
      decoder.push(chunk, (frame) => {
        if (!socket.destroyed) handlers.onFrame(frame);
      });
    } catch (error) {
      // A frame that cannot be read, or that its receiver does not take, ends this connection and no other.
      if (!(error instanceof PreduceError)) throw error;
      connection.destroy(error);
    }
  });
  socket.on('error', (error) => {
    failure ??= lost(remote, error);
  });
  socket.on('end', () => void socket.end());
  socket.on('close', () => {
    closed = true;
    for (const waiter of drainWaiters.splice(0)) waiter.reject(lost(remote, failure ?? new Error('it was closed')));
    handlers.onClose(failure);
  });
  return connection;
}

export function createTcpTransport(): Transport {
  return { listen, dial };
}

async function listen(address: Address, accept: (connection: Connection) => ConnectionHandlers): Promise<Listener> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    attach(socket, accept);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(
        new PreduceError(
          'port-unavailable',
          `expected to listen on ${address.host}:${address.port}, got "${error.message}"`,
          {
            cause: error,
          },
        ),
      );
    });
    server.listen({ host: address.host, port: address.port }, resolve);
  });
  const bound = server.address();
  return {
    address: { host: address.host, port: typeof bound === 'object' && bound !== null ? bound.port : address.port },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function dial(
  address: Address,
  handlers: (connection: Connection) => ConnectionHandlers,
  { signal }: { readonly signal: AbortSignal },
): Promise<Connection> {
  const remote = `${address.host}:${address.port}`;
  // `signal` as an option of connect would end the socket after the dial, too.
  const socket = connect({ host: address.host, port: address.port });
  const abort = (): void => void socket.destroy(new Error('the dial was given up'));
  signal.addEventListener('abort', abort);
  try {
    if (signal.aborted) abort();
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
  } catch (error) {
    if (signal.aborted) throw new PreduceError('aborted', `gave up reaching ${remote}`, { cause: error });
    throw lost(remote, error);
  } finally {
    signal.removeEventListener('abort', abort);
  }
  socket.removeAllListeners('error');
  return attach(socket, handlers);
}
