/**
 * TCP: the suite of all transports, with garbage from a plain socket.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describeTransport } from '../../test/suites/transport-suite.js';
import { createTcpTransport } from './tcp.js';

describeTransport('tcp', {
  createTransport: createTcpTransport,
  async sendRaw(address, bytes) {
    const socket = connect(address);
    // The other end resets the connection.
    socket.on('error', () => undefined);
    const closed = once(socket, 'close').catch(() => undefined);
    socket.write(bytes);
    await closed;
  },
});
