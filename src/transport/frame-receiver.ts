/**
 * The receiving half of a socket's connection: bytes to frames, straight into place where the socket can read there, with a
 * pause that holds what a chunk brought beyond it.
 */
import { PreduceError } from '../base/errors.js';
import { createFrameDecoder, type Frame } from '../wire/frame.js';
import type { Connection, ConnectionHandlers } from './transport.js';

/** The connection that a receiver works for. */
export interface ReceiverOwner {
  readonly socket: { readonly destroyed: boolean; pause(): unknown; resume(): unknown };
  readonly handlers: ConnectionHandlers;
  destroy(error: PreduceError): void;
  /** The other end closes. */
  onBye(): void;
}

export interface Receiver extends Pick<Connection, 'pause' | 'resume' | 'bytesReceived'> {
  /** Memory for what arrives next, for a socket that reads straight into it. */
  space(): Uint8Array;
  /** So many bytes were read into it. Returns whether to read on. */
  filled(count: number): boolean;
  /** Bytes that the socket read into memory of its own. */
  push(chunk: Uint8Array): void;
  /** To be called before the first byte arrives. */
  serve(owner: ReceiverOwner): void;
}

/**
 * Hands on the frames that arrive. A frame that cannot be read, or that its receiver does not take, ends this connection
 * and no other.
 */
export function createReceiver(): Receiver {
  let owner: ReceiverOwner | null = null;
  let paused = false;
  let bytesReceived = 0;
  /** Frames of the last chunk that came behind the one at which the receiver paused. */
  const held: Frame[] = [];
  const decoder = createFrameDecoder({
    place: (header) => (paused || held.length > 0 ? null : (owner?.handlers.place?.(header) ?? null)),
    onFrame(frame) {
      if (owner?.socket.destroyed !== false) return;
      if (frame.type === 'bye') owner.onBye();
      else if (paused || held.length > 0) held.push({ ...frame, payload: frame.payload.slice() });
      else owner.handlers.onFrame(frame);
    },
  });

  function guard(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      if (!(error instanceof PreduceError)) throw error;
      owner?.destroy(error);
    }
  }

  function deliverHeld(): void {
    while (!paused && owner?.socket.destroyed === false) {
      const frame = held.shift();
      if (frame === undefined) {
        owner.socket.resume();
        return;
      }
      const { handlers } = owner;
      guard(() => handlers.onFrame(frame));
    }
  }

  return {
    space: () => decoder.space(),
    get bytesReceived() {
      return bytesReceived;
    },
    filled(count) {
      bytesReceived += count;
      guard(() => decoder.filled(count));
      return !paused;
    },
    push(chunk) {
      bytesReceived += chunk.byteLength;
      guard(() => decoder.push(chunk));
    },
    serve(value) {
      owner = value;
    },
    pause() {
      paused = true;
      owner?.socket.pause();
    },
    resume() {
      paused = false;
      if (held.length === 0) owner?.socket.resume();
      else setImmediate(deliverHeld);
    },
  };
}
