/**
 * A communicator on each transport: the matrix of members, sizes and weights; aborts, deaths and transfers.
 */
import { describeCommunicator } from '../../test/suites/communicator-suite.js';
import { createTcpTransport } from '../transport/tcp.js';

describeCommunicator('tcp', createTcpTransport, { memberCounts: [1, 2, 3, 4, 7], lengths: [0, 1, 5, 7919, 100_003] });
