/**
 * The memory transport: the suite of all transports, and address spaces that are apart.
 */
import { expect, it } from 'vitest';
import { describeTransport } from '../../test/suites/transport-suite.js';
import { createMemoryTransport } from './memory.js';
import type { ConnectionHandlers } from './transport.js';

describeTransport('memory', { createTransport: createMemoryTransport });

const DEAF: ConnectionHandlers = { onFrame: () => undefined, onClose: () => undefined };

it('has an address space of its own', async () => {
  const [one, other] = [createMemoryTransport(), createMemoryTransport()];
  const address = { host: 'a', port: 7 };
  const signal = new AbortController().signal;
  await one.listen(address, () => DEAF);
  await expect(other.dial(address, () => DEAF, { signal })).rejects.toMatchObject({ code: 'connection-lost' });
  await other.listen(address, () => DEAF);
  await expect(one.listen({ host: 'b', port: 7 }, () => DEAF)).resolves.toMatchObject({ address: { host: 'b' } });
});
