/**
 * Encrypted TCP and local sockets: the suite of all transports, and who does not come through the handshake.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, it, onTestFinished, vi } from 'vitest';
import { describeTransport } from '../../test/suites/transport-suite.js';
import { createCertificates } from '../security/certificates.js';
import type { Frame } from '../wire/frame.js';
import type { GroupId } from '../base/ids.js';
import { createTcpTransport, type TcpTransportOptions } from './tcp.js';
import type { ConnectionHandlers, Listener, Transport } from './transport.js';

function createEncrypted(options: TcpTransportOptions = {}, key = 'key'): Transport {
  const transport = createTcpTransport({ ...options, encrypts: true });
  transport.setKey?.(key);
  return transport;
}

describeTransport('tls, local sockets', { createTransport: () => createEncrypted() });
describeTransport('tls', { createTransport: () => createEncrypted({ localSockets: false }) });
describeTransport('tls, through buffers', {
  createTransport: () => createEncrypted({ localSockets: false, inPlace: false }),
});

const LOCAL = { host: '127.0.0.1', port: 0 };
const DEAF: ConnectionHandlers = { onFrame: () => undefined, onClose: () => undefined };
const FRAME: Frame = {
  type: 'segment-reduce',
  sender: 1,
  incarnation: 1,
  group: 1 as GroupId,
  part: 0,
  offset: 0,
  payload: new TextEncoder().encode('a secret of the run'),
};

interface Counted {
  readonly listener: Listener;
  /** Connections that the listener was told of. */
  readonly count: () => number;
}

async function listenEncrypted(transport = createEncrypted()): Promise<Counted> {
  let count = 0;
  const listener = await transport.listen(LOCAL, () => {
    count += 1;
    return DEAF;
  });
  onTestFinished(() => listener.close());
  return { listener, count: () => count };
}

function dial(transport: Transport, port: number): Promise<unknown> {
  return transport.dial({ ...LOCAL, port }, () => DEAF, { signal: new AbortController().signal });
}

async function portOf(server: Server): Promise<number> {
  server.listen({ ...LOCAL });
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it.each([
  ['with another key', createEncrypted({}, 'another')],
  ['that speaks no TLS', createTcpTransport()],
  ['that does not know the key yet', createTcpTransport({ encrypts: true })],
])('lets nobody in %s, and serves those who know it', async (_, stranger) => {
  const { listener, count } = await listenEncrypted();
  const { port } = listener.address;
  // Without TLS the dial itself succeeds, and what is said is not understood.
  const outcome = (async () => {
    let lose: (reason: unknown) => void = () => undefined;
    const ended = new Promise((_resolve, reject) => {
      lose = reject;
    });
    const connection = await stranger.dial(
      { ...LOCAL, port },
      () => ({ onFrame: () => undefined, onClose: (reason) => lose(reason) }),
      { signal: new AbortController().signal },
    );
    await connection.send(FRAME);
    await ended;
  })();
  await expect(outcome).rejects.toMatchObject({ code: 'connection-lost' });
  expect(count()).toBe(0);
  await dial(createEncrypted(), port);
  await vi.waitUntil(() => count() === 1);
});

it('does not talk to a server that shows a certificate in place of the key', async () => {
  const { certificate } = await createCertificates({ hosts: ['127.0.0.1'], days: 1 });
  const heard: string[] = [];
  const server = createTlsServer({ cert: certificate.certificate, key: certificate.key }, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => heard.push(bytes.toString()));
  });
  const port = await portOf(server);
  await expect(dial(createEncrypted(), port)).rejects.toMatchObject({ code: 'connection-lost' });
  expect(heard).toEqual([]);
});

it('puts nothing readable on the wire', async () => {
  const { listener } = await listenEncrypted();
  const seen: Buffer[] = [];
  const sockets: Socket[] = [];
  const between = createServer((near) => {
    const far = connect({ ...LOCAL, port: listener.address.port });
    for (const socket of [near, far]) socket.on('error', () => undefined);
    near.on('data', (bytes) => seen.push(bytes));
    near.pipe(far).pipe(near);
    sockets.push(near, far);
  });
  const port = await portOf(between);
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const connection = await createEncrypted().dial(
    { ...LOCAL, port },
    () => ({ onFrame: () => undefined, onClose: () => end() }),
    { signal: new AbortController().signal },
  );
  await connection.send(FRAME);
  connection.close();
  await ended;
  expect(Buffer.concat(seen).length).toBeGreaterThan(FRAME.payload.byteLength);
  expect(Buffer.concat(seen).includes('secret')).toBe(false);
  expect(Buffer.concat(seen).includes('PRPD')).toBe(false);
  for (const socket of sockets) socket.destroy();
});

it('closes a listener while a stranger says nothing', async () => {
  const transport = createEncrypted({ localSockets: false });
  const listener = await transport.listen(LOCAL, () => DEAF);
  const socket = connect({ ...LOCAL, port: listener.address.port });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  await listener.close();
  await closed;
});
