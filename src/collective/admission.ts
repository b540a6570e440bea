/**
 * How a data connection begins: `hello`, `challenge`, `proof` (docs/protocol.md 4.4). Until both ends have proven that they know
 * the run's key, a connection may say next to nothing, and not for long: strangers can reach the port, too.
 */
import { PreduceError } from '../base/errors.js';
import type { GroupId } from '../base/ids.js';
import { lost } from '../transport/lost.js';
import type { Connection, ConnectionHandlers, Transport } from '../transport/transport.js';
import { type Frame, type FrameHeader, NO_WORKER } from '../wire/frame.js';
import { LIMITS } from '../wire/limits.js';
import type { Peer } from '../wire/messages.js';
import { createNonce, type Exchange, isProof, NONCE_BYTES, PROOF_BYTES, type ProofParty, proofOf } from './proof.js';
import type { Identity } from './task.js';

/** What a connection is for: `part` of its `hello`. */
export const PURPOSES = { collectives: 0, transfer: 1 } as const;

type Sender = Pick<ProofParty, 'sender' | 'incarnation'>;

/** How this process signs its frames. */
export function senderOf(identity: Identity): Sender {
  return identity.role === 'worker'
    ? { sender: identity.worker, incarnation: identity.incarnation }
    : { sender: NO_WORKER, incarnation: 0 };
}

function admissionFrame(type: 'hello' | 'challenge' | 'proof', from: Sender, part: number, payload: Uint8Array): Frame {
  return { type, ...from, group: 0 as GroupId, part, offset: 0, payload };
}

function refuseLong({ type, payloadBytes }: FrameHeader): null {
  if (payloadBytes <= NONCE_BYTES + PROOF_BYTES) return null;
  throw new PreduceError(
    'bad-frame',
    `expected at most ${NONCE_BYTES + PROOF_BYTES} bytes before a proof of the run's key, got ${payloadBytes} in a ${type} frame`,
  );
}

function expectType(frame: Frame, type: Frame['type'], payloadBytes: number): void {
  if (frame.type === type && frame.payload.byteLength === payloadBytes) return;
  throw new PreduceError(
    'bad-frame',
    `expected a ${type} of ${payloadBytes} bytes, got a ${frame.type} frame of ${frame.payload.byteLength}`,
  );
}

/** Destroys a connection that has not proven itself in time; returns how to call that off. */
function limitTime(connection: Connection): () => void {
  const timer = setTimeout(() => {
    const message = `expected a proof of the run's key within ${LIMITS.admissionMs} ms, got none from ${connection.remote}`;
    connection.destroy(new PreduceError('bad-frame', message));
  }, LIMITS.admissionMs);
  timer.unref();
  return () => clearTimeout(timer);
}

/** Who has said `hello`, and for what. */
export interface Admitted {
  readonly worker: number;
  readonly incarnation: number;
  readonly part: number;
}

export interface GateDependencies {
  /** Null: not known yet, so that nobody can be let in. */
  readonly identity: () => Identity | null;
  /** Takes a connection that has proven itself. Throws `bad-frame`. */
  readonly admit: (connection: Connection, who: Admitted) => ConnectionHandlers;
}

/** The listening end: handlers for whatever connects. */
export function createGate({ identity, admit }: GateDependencies): (connection: Connection) => ConnectionHandlers {
  const unproven = new Set<Connection>();

  return (connection) => {
    let exchange: Exchange | null = null;
    let handlers: ConnectionHandlers | null = null;
    const inTime = limitTime(connection);
    // The oldest has had its time; whoever floods the port loses its own.
    for (const oldest of unproven) {
      if (unproven.size < LIMITS.unprovenDataConnectionsMax) break;
      unproven.delete(oldest);
      oldest.destroy(
        new PreduceError('bad-frame', 'too many connections that have proven nothing: this is the oldest'),
      );
    }
    unproven.add(connection);

    function self(): Identity {
      const known = identity();
      if (known === null) throw new PreduceError('bad-frame', 'expected no connection before this worker has joined');
      return known;
    }

    function challenge(hello: Frame): void {
      expectType(hello, 'hello', NONCE_BYTES);
      const { sender, incarnation, part, payload } = hello;
      const from = senderOf(self());
      const listener = { ...from, nonce: createNonce() };
      exchange = { dialler: { sender, incarnation, nonce: payload.slice() }, part, listener };
      const answer = new Uint8Array(NONCE_BYTES + PROOF_BYTES);
      answer.set(listener.nonce);
      answer.set(proofOf(self().runKey, 'listener', exchange), NONCE_BYTES);
      // Should it be lost, `onClose` tells.
      connection.send(admissionFrame('challenge', from, 0, answer)).catch(() => undefined);
    }

    function check(proof: Frame, { dialler, part, listener }: Exchange): void {
      expectType(proof, 'proof', PROOF_BYTES);
      if (!isProof(proof.payload, proofOf(self().runKey, 'dialler', { dialler, part, listener }))) {
        throw new PreduceError('bad-frame', "expected a proof of this run's key, got that of another key");
      }
      unproven.delete(connection);
      inTime();
      handlers = admit(connection, { worker: dialler.sender, incarnation: dialler.incarnation, part });
    }

    return {
      place: (header) => (handlers === null ? refuseLong(header) : (handlers.place?.(header) ?? null)),
      onFrame(frame) {
        if (handlers !== null) handlers.onFrame(frame);
        else if (exchange === null) challenge(frame);
        else check(frame, exchange);
      },
      onClose(reason) {
        unproven.delete(connection);
        inTime();
        handlers?.onClose(reason);
      },
    };
  };
}

export interface AdmissionRequest {
  readonly peer: Peer;
  readonly identity: Identity;
  readonly part: number;
  readonly signal: AbortSignal;
  /** The handlers of the connection from then on: called once both ends have proven themselves. */
  readonly open: (connection: Connection) => ConnectionHandlers;
}

/**
 * The dialling end: resolves when the peer has proven that it is this life of this worker, or rather that it knows the run's
 * key and says so, and was sent this end's proof. Throws `connection-lost`, `bad-frame`, `aborted`.
 */
export async function dialAdmitted(transport: Transport, request: AdmissionRequest): Promise<Connection> {
  const { peer, identity, part, signal, open } = request;
  const from = senderOf(identity);
  const nonce = createNonce();
  let handlers: ConnectionHandlers | null = null;
  let settle: { resolve(): void; reject(error: unknown): void } | null = null;
  const admitted = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // The dial itself may fail first.
  admitted.catch(() => undefined);

  function answer(connection: Connection, challenge: Frame): void {
    expectType(challenge, 'challenge', NONCE_BYTES + PROOF_BYTES);
    const { sender, incarnation, payload } = challenge;
    if (sender !== peer.worker || incarnation !== peer.incarnation) {
      const expected = `expected worker ${peer.worker} in its life ${peer.incarnation} at ${connection.remote}`;
      throw new PreduceError('bad-frame', `${expected}, got worker ${sender} in its life ${incarnation}`);
    }
    const listener = { sender, incarnation, nonce: payload.slice(0, NONCE_BYTES) };
    const exchange: Exchange = { dialler: { ...from, nonce }, part, listener };
    if (!isProof(payload.slice(NONCE_BYTES), proofOf(identity.runKey, 'listener', exchange))) {
      throw new PreduceError('bad-frame', `expected a proof of this run's key from ${connection.remote}, got another`);
    }
    const proof = proofOf(identity.runKey, 'dialler', exchange);
    connection.send(admissionFrame('proof', from, part, proof)).catch(() => undefined);
    handlers = open(connection);
    settle?.resolve();
  }

  const connection = await transport.dial(
    peer.address,
    (dialled) => ({
      place: (header) => (handlers === null ? refuseLong(header) : (handlers.place?.(header) ?? null)),
      onFrame(frame) {
        if (handlers === null) answer(dialled, frame);
        else handlers.onFrame(frame);
      },
      onClose(reason) {
        handlers?.onClose(reason);
        settle?.reject(reason ?? lost(dialled.remote, new Error('it was closed before it was let in')));
      },
    }),
    { signal },
  );
  const inTime = limitTime(connection);
  const abort = (): void => connection.destroy(new PreduceError('aborted', `gave up reaching ${connection.remote}`));
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    await connection.send(admissionFrame('hello', from, part, nonce));
    await admitted;
    return connection;
  } catch (error) {
    if (signal.aborted) throw new PreduceError('aborted', `gave up reaching ${connection.remote}`, { cause: error });
    throw error;
  } finally {
    inTime();
    signal.removeEventListener('abort', abort);
  }
}
