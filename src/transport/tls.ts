/**
 * Encrypted sockets between peers: TLS 1.3 whose secret that both ends know beforehand is the run's key (an external PSK, RFC
 * 8446 2.2, with a Diffie-Hellman exchange, so that what was recorded stays secret when the key leaks). No peer needs a
 * certificate, and whoever does not know the key does not come through the handshake. docs/protocol.md 4.5, decision 14.
 */
import { createHash } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import { connect, createServer, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { PreduceError } from '../base/errors.js';
import { LIMITS } from '../wire/limits.js';

/** The run's key; null as long as it is not known: no handshake succeeds then. */
export type RunKey = () => string | null;

const PSK_IDENTITY = 'preduce';

const VERSION = {
  minVersion: 'TLSv1.3',
  maxVersion: 'TLSv1.3',
  // An external PSK without a hash of its own goes with SHA-256.
  ciphers: 'TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256',
} as const;

/** Not the key itself, which proofs are made with, too. */
function secretOf(runKey: string): Buffer {
  return createHash('sha256').update(`preduce tls 1\n${runKey}`).digest();
}

/**
 * A write to an end that is gone may never be answered (Node 20, local sockets), and the socket never close: no longer than this
 * after the other end's last byte.
 */
const CLOSE_GRACE_MS = 1000;

function closeAfterEnd(socket: TLSSocket): void {
  socket.once('end', () => {
    const cut = setTimeout(() => socket.destroy(), CLOSE_GRACE_MS);
    socket.once('close', () => clearTimeout(cut));
  });
}

/** A server of encrypted sockets. Those that do not come through the handshake are gone without a trace. */
export function createTlsServer(key: RunKey, onSocket: (socket: Socket) => void): Server {
  const pskCallback = (): Buffer | null => {
    const runKey = key();
    return runKey === null ? null : secretOf(runKey);
  };
  const server = createServer({ ...VERSION, handshakeTimeout: LIMITS.admissionMs, pskCallback }, (socket) => {
    closeAfterEnd(socket);
    onSocket(socket);
  });
  // Node leaves the socket of a handshake that failed to the listener of this event.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}

/** Connects; `secureConnect` tells when the other end has shown that it knows the key. */
export function connectTls(where: ConnectionOptions, key: RunKey): TLSSocket {
  const runKey = key();
  if (runKey === null) throw new PreduceError('connection-lost', 'expected to know the key of the run before a dial');
  const socket = connect({
    ...where,
    ...VERSION,
    pskCallback: () => ({ psk: secretOf(runKey), identity: PSK_IDENTITY }),
    // With the key there is no certificate to be looked at: one that is shown in its place is a stranger's.
    ca: [],
    checkServerIdentity: () => new Error('the other end shows a certificate and does not know the key of the run'),
  });
  const timer = setTimeout(() => {
    socket.destroy(new Error(`expected a TLS handshake within ${LIMITS.admissionMs} ms`));
  }, LIMITS.admissionMs);
  timer.unref();
  closeAfterEnd(socket);
  for (const event of ['secureConnect', 'close']) socket.once(event, () => clearTimeout(timer));
  return socket;
}
