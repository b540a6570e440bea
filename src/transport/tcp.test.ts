/**
 * TCP and local sockets: the suite of all transports, with garbage from a plain socket.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describeTransport } from '../../test/suites/transport-suite.js';
import type { Address } from '../wire/messages.js';
import { createTcpTransport } from './tcp.js';

async function sendRaw(address: Address, bytes: Uint8Array): Promise<void> {
  const socket = connect({ host: address.host, port: address.port });
  // The other end resets the connection.
  socket.on('error', () => undefined);
  const closed = once(socket, 'close').catch(() => undefined);
  socket.write(bytes);
  await closed;
}

describeTransport('local sockets', { createTransport: () => createTcpTransport(), sendRaw });
describeTransport('tcp', { createTransport: () => createTcpTransport({ localSockets: false }), sendRaw });
describeTransport('tcp, through buffers', {
  createTransport: () => createTcpTransport({ localSockets: false, inPlace: false }),
  sendRaw,
});
