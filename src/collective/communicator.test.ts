/**
 * A communicator on each transport: the matrix of members, sizes, weights and plans; aborts, deaths and transfers. The SIMD
 * kernel needs `npm run build:wasm`.
 */
import { describeCollectives, describeTransfers } from '../../test/suites/communicator-suite.js';
import { createMemoryTransport } from '../transport/memory.js';
import { createTcpTransport } from '../transport/tcp.js';
import { PLAN_NAMES } from './plan/plans.js';

const lengths = [0, 1, 7919, 100_003];

for (const collective of PLAN_NAMES) {
  describeCollectives('memory', createMemoryTransport, {
    collective,
    memberCounts: [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16],
    lengths,
    kernel: 'plain',
  });
  describeCollectives('local sockets', () => createTcpTransport(), {
    collective,
    memberCounts: [1, 2, 3, 5, 8],
    lengths,
    kernel: 'simd',
  });
}
describeCollectives('tcp', () => createTcpTransport({ localSockets: false }), {
  collective: 'direct',
  memberCounts: [2, 3],
  lengths,
  kernel: 'plain',
});

describeTransfers('memory', createMemoryTransport);
describeTransfers('local sockets', () => createTcpTransport());
