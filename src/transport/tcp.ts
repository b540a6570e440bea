/**
 * Frames over TCP. A connection that is closed ends with FIN, one that is destroyed with RST, so that the other end can tell
 * the two apart.
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

/**
 * Hands on the frames that arrive. A frame that cannot be read, or that its receiver does not take, ends this connection
 * and no other.
 */
function receiveFrames(
  socket: Socket,
  onFrame: (frame: Frame) => void,
  destroy: (error: PreduceError) => void,
): Pick<Connection, 'pause' | 'resume'> {
  const decoder = createFrameDecoder();
  let paused = false;
  /** Frames of the last chunk that came behind the one at which the receiver paused. */
  const held: Frame[] = [];

  function guard(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      if (!(error instanceof PreduceError)) throw error;
      destroy(error);
    }
  }

  function deliverHeld(): void {
    while (!paused && !socket.destroyed) {
      const frame = held.shift();
      if (frame === undefined) {
        socket.resume();
        return;
      }
      guard(() => onFrame(frame));
    }
  }

  socket.on('data', (chunk: Buffer) => {
    guard(() =>
      decoder.push(chunk, (frame) => {
        if (socket.destroyed) return;
        if (paused || held.length > 0) held.push({ ...frame, payload: frame.payload.slice() });
        else onFrame(frame);
      }),
    );
  });
  return {
    pause() {
      paused = true;
      socket.pause();
    },
    resume() {
      paused = false;
      if (held.length === 0) socket.resume();
      else setImmediate(deliverHeld);
    },
  };
}

/** Frames on a connected socket. `open` gives the handlers, which may need the connection. */
function attach(socket: Socket, open: (connection: Connection) => ConnectionHandlers): Connection {
  const remote = `${socket.remoteAddress ?? '?'}:${socket.remotePort ?? '?'}`;
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
        if (error) reject(lost(remote, failure ?? error));
        else resolve();
      });
    });
  }

  const connection: Connection = {
    remote,
    send,
    ...receiveFrames(
      socket,
      (frame) => handlers.onFrame(frame),
      (error) => connection.destroy(error),
    ),
    close: () => void socket.end(),
    destroy(reason) {
      failure ??= reason;
      // A reset while the FIN is on its way fails and would leave the socket open for ever; all bytes are the kernel's then.
      const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
      if (isEnding) socket.destroy();
      else socket.resetAndDestroy();
    },
  };
  const handlers = open(connection);

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
  const connections = new Set<Connection>();
  const server: Server = createServer((socket) => {
    const connection = attach(socket, accept);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
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
      for (const connection of connections) {
        connection.destroy(lost(connection.remote, new Error('the listener was closed')));
      }
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
  if (signal.aborted) throw new PreduceError('aborted', `gave up reaching ${remote}`, { cause: signal.reason });
  // `signal` as an option of connect would end the socket after the dial, too.
  const socket = connect({ host: address.host, port: address.port });
  const abort = (): void => void socket.destroy(new Error('the dial was given up'));
  signal.addEventListener('abort', abort);
  try {
    return await new Promise<Connection>((resolve, reject) => {
      socket.once('error', reject);
      // Attached at once, so that no event of the socket is missed.
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(attach(socket, handlers));
      });
    });
  } catch (error) {
    if (signal.aborted) throw new PreduceError('aborted', `gave up reaching ${remote}`, { cause: error });
    throw lost(remote, error);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
