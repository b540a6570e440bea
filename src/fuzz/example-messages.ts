/**
 * One control message of each type, as it may come: what is damaged to fuzz its readers, and what tests compare with. A test in
 * src/wire fails when one is missing.
 */
import { groupId } from '../base/ids.js';
import type { ControllerMessage, WorkerMessage } from '../wire/messages.js';

export const address = { host: '127.0.0.1', port: 40_001 };
const progress = { samples: 6400, localSteps: 100 };
export const group = groupId(1, 12);
export const member = { worker: 0, incarnation: 1, address, k: 9, weight: 0.25 };
export const layout = [
  { name: 'fc.weight', shape: [10, 784] },
  { name: 'scale', shape: [] },
];

export const fromWorker: readonly WorkerMessage[] = [
  { type: 'hello', version: { major: 1, minor: 0 }, role: 'worker', token: 'secret' },
  { type: 'join', layout, exchangeLength: 7841, stateLength: 15_681, address, worker: 3, pid: 4711, hostname: 'box' },
  {
    type: 'resume',
    worker: 3,
    incarnation: 2,
    secret: '0f'.repeat(32),
    address,
    pid: 4711,
    hostname: 'box',
    doing: 'computing',
    k: 12,
    ready: { k: 13, finite: true },
    finite: true,
    localSteps: 14,
    samples: 896,
    samplesSinceGroup: 64,
    lease: 4,
    finished: null,
  },
  { type: 'synced', k: 12 },
  { type: 'transferFailed', reason: 'the donor is gone' },
  { type: 'ready', k: 13, samples: 64, finite: true, loss: 0.25, computeMs: 12.5, paddingMs: 0, overrun: false },
  { type: 'done', group, bytesSent: 31_364, reduceMs: 3.5 },
  { type: 'aborted', group, reason: 'lost worker 2' },
  { type: 'leaseRequest', finished: 4 },
  { type: 'checkpointed', checkpoint: 2, k: 13, lease: 4, processed: 128, bytes: 4096, sha256: '0f'.repeat(32) },
  { type: 'checkpointFailed', checkpoint: 2, reason: 'the disk is full' },
  { type: 'finished' },
  { type: 'leave' },
  { type: 'heartbeat' },
  { type: 'log', values: { accuracy: 0.5, 'a b.c': -1e300 } },
  { type: 'evaluated', mark: 3, loss: 0.3, accuracy: 0.9, replicas: 4, cpuMs: 81.5 },
  { type: 'evaluationFailed', mark: 3, reason: 'no replica could be fetched' },
  { type: 'serverJoin', address },
  { type: 'shardHeld' },
  { type: 'shardFailed', reason: 'the donor is gone' },
];

export const fromController: readonly ControllerMessage[] = [
  {
    type: 'welcome',
    version: { major: 1, minor: 0 },
    runId: 'run-1',
    config: { a: [1, { b: null }] },
    heartbeatMs: 1000,
  },
  { type: 'refused', code: 'version-mismatch', message: 'install the same major version' },
  { type: 'joined', worker: 3, incarnation: 2, runKey: '0123456789abcdef' },
  { type: 'resumed', progress },
  { type: 'seed' },
  { type: 'transfer', donor: { worker: 0, incarnation: 1, address } },
  { type: 'start' },
  {
    type: 'group',
    group,
    kind: 'step',
    collective: 'ring',
    members: [member, { ...member, worker: 1, weight: 0.75 }],
    kMax: 9,
    progress,
  },
  { type: 'abort', group, reason: 'worker 2 is suspect' },
  {
    type: 'shard',
    server: 1,
    servers: 2,
    self: { worker: 4094, incarnation: 1 },
    runKey: '0123456789abcdef',
    exchangeLength: 7841,
    stateLength: 7841,
    donor: { worker: 0, incarnation: 1, address },
  },
  { type: 'release', k: 9, progress },
  { type: 'lease', lease: { id: 5, epoch: 1, start: 640, count: 640 }, progress },
  { type: 'checkpoint', checkpoint: 2, fromK: 13 },
  { type: 'finish', reason: 'all epochs are done' },
  { type: 'left' },
  { type: 'close', reason: 'the run is over' },
  {
    type: 'evaluate',
    mark: 3,
    final: false,
    peers: [{ worker: 0, incarnation: 1, address }],
    runKey: '0123456789abcdef',
    stateLength: 7841,
  },
];
