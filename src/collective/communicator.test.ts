/**
 * A communicator on each transport: the matrix of members, sizes and weights; aborts, deaths and transfers. The SIMD kernel
 * needs `npm run build:wasm`.
 */
import { describeCommunicator } from '../../test/suites/communicator-suite.js';
import { createMemoryTransport } from '../transport/memory.js';
import { createTcpTransport } from '../transport/tcp.js';

const lengths = [0, 1, 7919, 100_003];

describeCommunicator('memory', createMemoryTransport, {
  memberCounts: [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16],
  lengths,
  kernel: 'plain',
});
describeCommunicator('local sockets', () => createTcpTransport(), {
  memberCounts: [1, 2, 3, 5, 8],
  lengths,
  kernel: 'simd',
});
describeCommunicator('tcp', () => createTcpTransport({ localSockets: false }), {
  memberCounts: [2, 3],
  lengths,
  kernel: 'plain',
});
