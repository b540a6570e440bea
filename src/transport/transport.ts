/**
 * What the collectives need of a network: ordered, reliable streams of frames between two processes.
 * test/suites/transport-suite.ts holds what every implementation must do.
 */
import type { Frame, FrameHeader } from '../wire/frame.js';
import type { Address } from '../wire/messages.js';

/** How a connection tells its owner what happens; set once, before the first frame is delivered. */
export interface ConnectionHandlers {
  /**
   * A frame begins: the memory of the receiver's in which its payload shall be written, of its length; null: memory of the
   * connection's. Saves copies, most where this end dialled. Throws `bad-frame`.
   */
  place?(header: FrameHeader): Uint8Array | null;
  /**
   * A whole frame arrived, in order. The payload is what `place` gave, else valid only until the call returns: copy what
   * is kept. Called synchronously, never re-entrantly.
   */
  onFrame(frame: Frame): void;
  /** The connection is over: `reason` is null after a close on either side, an error otherwise. Called exactly once. */
  onClose(reason: Error | null): void;
}

/** One end of a connection. */
export interface Connection {
  /** Name of the other end, for messages and logs. */
  readonly remote: string;
  /** Bytes that came from the other end so far, those of frames that are not whole yet too. */
  readonly bytesReceived: number;
  /**
   * Sends one frame. Resolves when the transport can take more (back-pressure), which says nothing about arrival; the
   * payload may be reused then. Rejects with `connection-lost` when the connection is or gets closed.
   */
  send(frame: Frame): Promise<void>;
  /**
   * Stops delivery of frames (the sender feels it as back-pressure) until `resume`. A paused end may hear that the
   * connection is over only when it resumes.
   */
  pause(): void;
  resume(): void;
  /** Ends the connection: frames already sent are still delivered. */
  close(): void;
  /** Ends it at once; undelivered frames are dropped, both ends see `reason` or a lost connection. */
  destroy(reason: Error): void;
}

export interface Listener {
  /** The bound address: a real port, also where 0 was asked for, and the local socket, where there is one. */
  readonly address: Address;
  /** Stops accepting and destroys the accepted connections. */
  close(): Promise<void>;
}

export interface Transport {
  /** Where the transport encrypts: the key that both ends of a connection must know. Before it is set none can be made. */
  setKey?(runKey: string): void;
  /**
   * Accepts connections at `address` (port 0: any free one); `accept` gives the handlers of each.
   * Throws `port-unavailable`.
   */
  listen(address: Address, accept: (connection: Connection) => ConnectionHandlers): Promise<Listener>;
  /** Connects. Throws `connection-lost` (retryable) when nobody listens, `aborted` when `signal` fires first. */
  dial(
    address: Address,
    handlers: (connection: Connection) => ConnectionHandlers,
    options: { readonly signal: AbortSignal },
  ): Promise<Connection>;
}
