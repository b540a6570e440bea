/**
 * What reads control messages and files: runs' records, checkpoints, models, data, traces, options.
 */
import { createHash } from 'node:crypto';
import { parseConfig } from '../cli/config-file.js';
import { parseIdx } from '../data/idx.js';
import { parseRunEvent } from '../observe/stored-run.js';
import { createSummary } from '../observe/summary.js';
import { parseTrace } from '../sim/compute-model.js';
import { decodeManifest, encodeManifest } from '../training/checkpoint-manifest.js';
import { decodePart, encodePart } from '../training/checkpoint-part.js';
import { parseTrainingConfig } from '../training/config.js';
import { decodeSafetensors, encodeSafetensors } from '../training/safetensors.js';
import { decodeControllerMessage, decodeWorkerMessage } from '../wire/control.js';
import { fromController, fromWorker } from './example-messages.js';
import { bytesOf, type Target, textOf } from './target.js';

const workerMessages: Target = {
  name: 'messages-of-workers',
  examples: fromWorker.map((message) => bytesOf(JSON.stringify(message))),
  read: (bytes) => void decodeWorkerMessage(textOf(bytes)),
};

const controllerMessages: Target = {
  name: 'messages-of-the-controller',
  examples: fromController.map((message) => bytesOf(JSON.stringify(message))),
  read: (bytes) => void decodeControllerMessage(textOf(bytes)),
};

const TRAINING = {
  workload: 'mnist-mlp',
  dataDirectory: null,
  strategy: 'partial-reduce',
  localSteps: 8,
  seed: 1,
  workerCount: 4,
  batchSamples: 64,
  learningRate: 0.1,
  schedule: { name: 'cosine', warmUpSamples: 0, runSamples: 60_000 },
  optimizer: 'sgd',
  momentum: 0.9,
  nesterov: true,
  weightDecay: 0,
  averageOptimizer: false,
  threads: 1,
  slow: ['straggler:3,4'],
  referenceMs: 12.5,
};

const trainingConfig: Target = {
  name: 'training-config',
  examples: [bytesOf(JSON.stringify({ ...fromController[0], config: TRAINING }))],
  read(bytes) {
    const message = decodeControllerMessage(textOf(bytes));
    if (message.type === 'welcome') parseTrainingConfig(message.config);
  },
};

const MODEL = [
  { name: 'fc.weight', shape: [2, 3], values: Float32Array.from([1, 2, 3, 4, 5, 6]) },
  { name: 'fc.bias', shape: [2], values: Float32Array.from([0, Number.NaN]) },
];

const safetensors: Target = {
  name: 'safetensors',
  examples: [encodeSafetensors(MODEL, { workload: 'mnist-mlp' }), encodeSafetensors([])],
  read: (bytes) => void decodeSafetensors(bytes),
};

const SHAPES = {
  layout: MODEL.map(({ name, shape }) => ({ name, shape })),
  auxiliaryLayout: [{ name: 'mean', shape: [3] }],
};

const checkpointParts: Target = {
  name: 'checkpoint-parts',
  examples: [
    encodePart(SHAPES, {
      parameters: Float32Array.from({ length: 8 }, (_, i) => i),
      auxiliary: new Float32Array(3),
      optimizer: new Float32Array(5),
    }),
  ],
  read: (bytes) => void decodePart(bytes, SHAPES, 'the input'),
};

const MANIFEST = encodeManifest({
  checkpoint: 2,
  savedAt: '2026-01-31T12:00:00.000Z',
  timeMs: 1500,
  term: 1,
  progress: { samples: 6400, localSteps: 100 },
  ledger: { nextId: 5, epoch: 1, start: 640, open: [{ id: 4, epoch: 1, start: 0, count: 640 }] },
  parts: [{ worker: 0, k: 13, lease: 4, processed: 128, bytes: 4096, sha256: '0f'.repeat(32) }],
  layout: 'ab'.repeat(8),
  label: 'partial-reduce',
  options: { seed: 1 },
  core: { groupSize: 2 },
  training: TRAINING,
});

/** With the digest of what is in it, as a reader would have it: else no damage comes further than the first line. */
const manifests: Target = {
  name: 'checkpoint-manifests',
  examples: [MANIFEST],
  read(bytes) {
    const body = bytes.subarray(bytes.indexOf(0x0a) + 1);
    const digest = createHash('sha256').update(body).digest('hex');
    decodeManifest(Uint8Array.from(Buffer.concat([Buffer.from(`preduce-checkpoint ${digest}\n`), body])), 'the input');
    decodeManifest(bytes, 'the input');
  },
};

const RECORD = [
  { timeMs: -5, type: 'workerJoined', worker: 0, incarnation: 1, hostname: 'box', pid: 4711 },
  { timeMs: -1, type: 'workerSynced', worker: 0, k: 0, donor: null },
  { timeMs: 0, type: 'started', workers: [0, 1] },
  {
    timeMs: 9,
    type: 'ready',
    worker: 0,
    k: 1,
    samples: 64,
    loss: 2.3,
    finite: true,
    computeMs: 9,
    paddingMs: 0,
    overrun: false,
  },
  {
    timeMs: 9.5,
    type: 'groupFormed',
    group: 1,
    kind: 'step',
    members: [0, 1],
    weights: [0.5, 0.5],
    staleness: [0, 1],
    kMax: 1,
  },
  { timeMs: 11, type: 'reduced', group: 1, worker: 0, bytesSent: 4096, reduceMs: 1.5 },
  { timeMs: 12, type: 'groupClosed', group: 1, kind: 'step', committed: [0, 1], aborted: false },
  {
    timeMs: 20,
    type: 'evaluated',
    mark: 1,
    final: false,
    samples: 128,
    localSteps: 2,
    loss: 2,
    accuracy: 0.3,
    replicas: 2,
    cpuMs: 80,
  },
  { timeMs: 25, type: 'fault', kind: 'suspect', worker: 1, message: 'no sign of life' },
  { timeMs: 26, type: 'workerDead', worker: 1, reason: 'no sign of life' },
  {
    timeMs: 30,
    type: 'runEnded',
    reason: 'all epochs are done',
    holders: [0],
    samples: 128,
    localSteps: 2,
    rho: 0.3,
    maxGroupsToConnect: 2,
    holdMs: 0,
  },
]
  .map((event) => JSON.stringify(event))
  .join('\n');

const records: Target = {
  name: 'records',
  examples: [bytesOf(RECORD), ...RECORD.split('\n').map(bytesOf)],
  read(bytes) {
    const facts = { strategy: 's', workers: 2, groupSize: 2, weights: null, seed: 1, targetAccuracy: 0.9, out: null };
    const summary = createSummary(facts);
    for (const line of textOf(bytes).split('\n')) summary.add(parseRunEvent(line, 'the input'));
    summary.result();
  },
};

const traces: Target = {
  name: 'traces',
  examples: ['# measured\n10\n\n0,12.5\n1,.5\n', '1,10\n1,20\r\n99'].map(bytesOf),
  read: (bytes) => void parseTrace(textOf(bytes), 'the input'),
};

const options: Target = {
  name: 'options-in-yaml',
  examples: [
    'workers: 4\ngroup-size: 2 # pairs\nslow:\n  - straggler:3,4\n  - "0:2"\nseed: 007\n',
    '{ "workers": 8, "target-accuracy": 0.96 }',
    'a: &x 1\nb: *x\nc: |\n  text\n  more\nd: >-\n  folded\n',
  ].map(bytesOf),
  read: (bytes) => void parseConfig(textOf(bytes), 'the input'),
};

const dataFiles: Target = {
  name: 'idx',
  examples: [
    Uint8Array.from([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]),
    Uint8Array.from([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]),
  ],
  read: (bytes) => void parseIdx(bytes),
};

export const fileTargets: readonly Target[] = [
  workerMessages,
  controllerMessages,
  trainingConfig,
  safetensors,
  checkpointParts,
  manifests,
  records,
  traces,
  options,
  dataFiles,
];
