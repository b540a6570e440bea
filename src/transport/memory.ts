/**
 * Frames between parts of one process, without sockets: for tests and for workers that share a process. It keeps the
 * contract of TCP (transport.ts) to the letter: frames are encoded and decoded as on the wire, delivered in order and
 * never within `send`; a reader that is paused or slow makes the sender wait.
 *
 * Each end has an inbox of byte chunks, which the other end fills and a task of its own empties. Unlike on TCP, a paused
 * end hears at once that the other end was destroyed.
 */
import { PreduceError } from '../base/errors.js';
import { createFrameDecoder, encodeFrameHeader, type Frame, FRAME_HEADER_BYTES } from '../wire/frame.js';
import type { Address } from '../wire/messages.js';
import { lost } from './lost.js';
import type { Connection, ConnectionHandlers, Listener, Transport } from './transport.js';

type Accept = (connection: Connection) => ConnectionHandlers;

/** Bytes in an inbox from which on senders wait. */
const INBOX_BYTES = 256 * 1024;
/** The first port that is given to whoever asks for port 0: the start of the dynamic range. */
const FIRST_FREE_PORT = 49_152;
const LAST_PORT = 65_535;

/** The two sides of one connection; each end holds the other to fill its inbox. */
interface End extends Connection {
  /** Takes one frame's bytes. Resolves when the inbox has room again. */
  take(bytes: Uint8Array): Promise<void>;
  /** Nothing comes after what was taken. */
  takeEnd(): void;
  /** Drops the inbox and reports the end of the connection, once. */
  finish(reason: Error | null): void;
  start(handlers: ConnectionHandlers): void;
  isOver(): boolean;
}

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

/** The frame as it would be on the wire, in memory of its own: the sender may reuse the payload at once. */
function encodeFrame(frame: Frame): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES + frame.payload.byteLength);
  encodeFrameHeader(frame, new DataView(bytes.buffer));
  bytes.set(frame.payload, FRAME_HEADER_BYTES);
  return bytes;
}

/** What one end has been sent and has not taken yet. */
function createInbox(deliver: (bytes: Uint8Array) => void, onEnd: () => void) {
  let chunks: Uint8Array[] = [];
  let bytesHeld = 0;
  let ended = false;
  let paused = false;
  let scheduled = false;
  let waiters: Waiter[] = [];

  /** Delivery has a turn of its own, as with a socket: never within `send` or `resume`. */
  function schedule(): void {
    if (scheduled || paused) return;
    scheduled = true;
    setImmediate(empty);
  }

  function empty(): void {
    scheduled = false;
    // A handler may pause or destroy; what comes meanwhile waits for the next turn.
    for (let left = chunks.length; left > 0 && !paused; left -= 1) {
      const chunk = chunks.shift();
      if (chunk === undefined) return;
      bytesHeld -= chunk.byteLength;
      deliver(chunk);
    }
    if (bytesHeld < INBOX_BYTES) for (const waiter of waiters.splice(0)) waiter.resolve();
    if (chunks.length > 0) schedule();
    else if (ended && !paused) onEnd();
  }

  return {
    add(bytes: Uint8Array): Promise<void> {
      chunks.push(bytes);
      bytesHeld += bytes.byteLength;
      schedule();
      if (bytesHeld < INBOX_BYTES) return Promise.resolve();
      return new Promise((resolve, reject) => waiters.push({ resolve, reject }));
    },
    end(): void {
      ended = true;
      schedule();
    },
    pause(): void {
      paused = true;
    },
    resume(): void {
      paused = false;
      schedule();
    },
    /** Drops everything; senders that wait are told why. */
    drop(error: Error): void {
      chunks = [];
      bytesHeld = 0;
      ended = false;
      const waiting = waiters;
      waiters = [];
      for (const waiter of waiting) waiter.reject(error);
    },
  };
}

/** One end of a connection to `remote`; `other` gives the opposite end, which is made after this one. */
function createEnd(remote: string, other: () => End): End {
  let handlers: ConnectionHandlers | null = null;
  const decoder = createFrameDecoder({
    place: (header) => handlers?.place?.(header) ?? null,
    onFrame: (frame) => handlers?.onFrame(frame),
  });
  let bytesReceived = 0;
  let ending = false;
  let over = false;
  let failure: Error | null = null;

  function deliver(bytes: Uint8Array): void {
    bytesReceived += bytes.byteLength;
    try {
      decoder.push(bytes);
    } catch (error) {
      // A frame that cannot be read, or that its receiver does not take, ends this connection and no other.
      if (!(error instanceof PreduceError)) throw error;
      end.destroy(error);
    }
  }

  const inbox = createInbox(deliver, () => {
    end.close();
    end.finish(null);
  });

  const end: End = {
    remote,
    get bytesReceived() {
      return bytesReceived;
    },
    send(frame) {
      if (ending || over) return Promise.reject(lost(remote, failure ?? new Error('it was closed')));
      return other().take(encodeFrame(frame));
    },
    pause: inbox.pause,
    resume: inbox.resume,
    close() {
      if (ending || over) return;
      ending = true;
      other().takeEnd();
    },
    destroy(reason) {
      if (over) return;
      end.finish(reason);
      other().finish(lost('the other end', new Error('it was destroyed')));
    },
    take: inbox.add,
    takeEnd: inbox.end,
    finish(reason) {
      if (over) return;
      over = true;
      failure = reason;
      inbox.drop(lost(remote, reason ?? new Error('it was closed')));
      setImmediate(() => handlers?.onClose(reason));
    },
    start(value) {
      handlers = value;
    },
    isOver: () => over,
  };
  return end;
}

/** Two connected ends, ready for their handlers. */
function createPair(dialler: string, listener: string): readonly [End, End] {
  const near: End = createEnd(listener, () => far);
  const far: End = createEnd(dialler, () => near);
  return [near, far];
}

/** A network of its own: whoever is to be reached must listen on this very transport, at an address spelled the same. */
export function createMemoryTransport(): Transport {
  const listening = new Map<string, (far: End) => void>();
  let nextPort = FIRST_FREE_PORT;
  let dialCount = 0;

  function bind({ host, port }: Address): Address {
    if (port !== 0) {
      if (!listening.has(nameOf({ host, port }))) return { host, port };
      throw new PreduceError('port-unavailable', `expected to listen on ${host}:${port}, got "address already in use"`);
    }
    for (let tried = FIRST_FREE_PORT; tried <= LAST_PORT; tried += 1) {
      const address = { host, port: nextPort };
      nextPort = nextPort === LAST_PORT ? FIRST_FREE_PORT : nextPort + 1;
      if (!listening.has(nameOf(address))) return address;
    }
    throw new PreduceError('port-unavailable', `expected a free port of ${host}, got none: too many listeners`);
  }

  async function listen(wanted: Address, accept: Accept): Promise<Listener> {
    const address = bind(wanted);
    const accepted = new Set<End>();
    listening.set(nameOf(address), (end) => {
      for (const old of accepted) if (old.isOver()) accepted.delete(old);
      accepted.add(end);
      end.start(accept(end));
    });
    let open = true;
    return {
      address,
      async close() {
        // The port may be another listener's by the time of a second call.
        if (open) listening.delete(nameOf(address));
        open = false;
        for (const end of accepted) end.destroy(lost(end.remote, new Error('the listener was closed')));
      },
    };
  }

  async function dial(
    address: Address,
    open: Accept,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Connection> {
    const remote = nameOf(address);
    // A connection takes a turn, in which the signal may fire or the listener go.
    if (!signal.aborted) await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) throw new PreduceError('aborted', `gave up reaching ${remote}`, { cause: signal.reason });
    const accept = listening.get(remote);
    if (accept === undefined) throw lost(remote, new Error('nobody listens there'));
    dialCount += 1;
    const [near, far] = createPair(`memory:${dialCount}`, remote);
    accept(far);
    near.start(open(near));
    return near;
  }

  return { listen, dial };
}

function nameOf({ host, port }: Address): string {
  return `${host}:${port}`;
}
