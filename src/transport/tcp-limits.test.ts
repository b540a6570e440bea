/**
 * A data port that has all the connections that it may have: the limit is made small here.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { createTcpTransport } from './tcp.js';
import type { Connection } from './transport.js';

vi.mock('../wire/limits.js', async (load) => {
  const actual = await load<typeof import('../wire/limits.js')>();
  return { ...actual, LIMITS: { ...actual.LIMITS, dataConnectionsMax: 3 } };
});

it.each([false, true])(
  'closes further connections, and takes others when some are gone (encrypted: %s)',
  async (encrypts) => {
    const transport = createTcpTransport({ localSockets: false, encrypts });
    transport.setKey?.('key');
    const listener = await transport.listen({ host: '127.0.0.1', port: 0 }, () => ({
      onFrame: () => undefined,
      onClose: () => undefined,
    }));
    onTestFinished(() => listener.close());
    /** A connection, and whether it was closed at once. */
    async function dial(): Promise<{ connection: Connection; closed: Promise<Error | null> }> {
      let onClose: (reason: Error | null) => void = () => undefined;
      const closed = new Promise<Error | null>((resolve) => {
        onClose = resolve;
      });
      const signal = new AbortController().signal;
      const handlers = { onFrame: () => undefined, onClose };
      return { connection: await transport.dial(listener.address, () => handlers, { signal }), closed };
    }
    const held = [await dial(), await dial(), await dial()];
    const tooMany = dial().then(({ closed }) => closed);
    // Without TLS the connection is made, and then closed.
    await expect(tooMany.then((reason) => Promise.reject(reason))).rejects.toMatchObject({ code: 'connection-lost' });
    held[1]?.connection.close();
    await held[1]?.closed;
    await vi.waitFor(async () => {
      const again = await dial();
      const isOpen = await Promise.race([
        again.closed.then(() => false),
        again.connection
          .send({
            type: 'ack',
            sender: 0,
            incarnation: 0,
            group: 0 as never,
            part: 0,
            offset: 0,
            payload: new Uint8Array(4),
          })
          .then(() => true),
      ]);
      expect(isOpen).toBe(true);
    });
  },
);
