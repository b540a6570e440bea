/**
 * The evaluator against a control server that the test drives, and donors that serve replicas over TCP.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { createCommunicator } from '../collective/communicator.js';
import { startControlServer } from '../controller/control-server.js';
import { controller } from '../controller/run-controller.js';
import { type Dataset, normalisedLevels } from '../data/dataset.js';
import type { Batch, Model } from '../engine/model.js';
import { createTcpTransport } from '../transport/tcp.js';
import { PROTOCOL_VERSION } from '../wire/limits.js';
import type { ControllerMessage, Peer, WorkerMessage } from '../wire/messages.js';
import { runEvaluator } from './evaluator.js';

const RUN_KEY = 'a key';
const toClose: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(toClose.splice(0).map((each) => each.close()));
});

/** Four samples of one value, of class 0 and 1 in turn. */
const test: Dataset = {
  name: 'four samples',
  sampleCount: 4,
  inputShape: [1],
  classCount: 2,
  images: new Uint8Array(4),
  labels: Uint8Array.of(0, 1, 0, 1),
  levels: normalisedLevels(0, 1),
};

/** Says class 1 for every sample where its two parameters and its statistic sum to more than 0; the sum is its loss. */
function createModel(): Model {
  const parameters = new Float32Array(2);
  const auxiliary = new Float32Array(1);
  return {
    layout: [{ name: 'w', shape: [2] }],
    parameters,
    auxiliaryLayout: [{ name: 'mean', shape: [1] }],
    auxiliary,
    gradient: () => expect.fail('an evaluator does not train'),
    evaluate({ labels, count }: Batch) {
      const sum = parameters.reduce((total, value) => total + value, auxiliary[0] as number);
      const answer = sum > 0 ? 1 : 0;
      return Promise.resolve({
        loss: sum,
        correct: labels.subarray(0, count).filter((label) => label === answer).length,
      });
    },
    release: () => Promise.resolve(),
  };
}

/** A worker's data port that serves this state. */
async function startDonor(worker: number, state: readonly number[]): Promise<Peer> {
  const communicator = await createCommunicator(
    { listen: { host: '127.0.0.1', port: 0 }, serve: () => ({ k: 1, values: Float32Array.from(state) }) },
    { transport: createTcpTransport() },
  );
  communicator.setIdentity({ role: 'worker', worker, incarnation: 1, runKey: RUN_KEY });
  toClose.push(communicator);
  return { worker, incarnation: 1, address: communicator.address };
}

const welcome: ControllerMessage = {
  type: 'welcome',
  version: PROTOCOL_VERSION,
  runId: 'r',
  config: {},
  heartbeatMs: 1000,
};

type Answer = Extract<WorkerMessage, { type: 'evaluated' | 'evaluationFailed' }>;

/** Runs an evaluator that gets these messages after its hello, then `close` after as many answers as there are evaluations. */
async function evaluate(messages: readonly ControllerMessage[]): Promise<{
  readonly answers: readonly Answer[];
  readonly model: Model;
}> {
  const answers: Answer[] = [];
  const wanted = messages.filter(({ type }) => type === 'evaluate').length;
  const server = await startControlServer({
    address: { host: '127.0.0.1', port: 0 },
    requestTimeoutMs: 5000,
    health: () => ({}),
    accept: (peer) => ({
      onMessage(message) {
        if (message.type === 'hello') for (const each of messages) peer.send(each);
        if (message.type !== 'evaluated' && message.type !== 'evaluationFailed') return;
        answers.push(message);
        if (answers.length === wanted) peer.send({ type: 'close', reason: 'the run is over' });
      },
      onClose: () => undefined,
    }),
  });
  toClose.push(server);
  const model = createModel();
  const url = `ws://127.0.0.1:${server.address.port}`;
  await runEvaluator({ controller: url, token: null, model, test, onFinal: () => Promise.resolve() });
  return { answers, model };
}

function evaluation(
  peers: readonly Peer[],
  changes: { final?: boolean; stateLength?: number } = {},
): ControllerMessage {
  return { type: 'evaluate', mark: 1, final: false, peers: [...peers], runKey: RUN_KEY, stateLength: 3, ...changes };
}

describe('an evaluation', () => {
  it('is of the mean of the replicas', async () => {
    const peers = [await startDonor(0, [1, 2, 4]), await startDonor(1, [3, -6, 0])];
    const { answers, model } = await evaluate([welcome, evaluation(peers)]);
    expect([...model.parameters, ...model.auxiliary]).toEqual([2, -2, 2]);
    expect(answers).toMatchObject([{ type: 'evaluated', mark: 1, loss: 2, accuracy: 0.5, replicas: 2 }]);
  });

  it('takes what it gets where a worker is gone', async () => {
    const gone: Peer = { worker: 9, incarnation: 1, address: { host: '127.0.0.1', port: 9 } };
    const { answers, model } = await evaluate([welcome, evaluation([gone, await startDonor(0, [1, 2, 4])])]);
    expect([...model.parameters, ...model.auxiliary]).toEqual([1, 2, 4]);
    expect(answers).toMatchObject([{ type: 'evaluated', replicas: 1 }]);
  });

  it('fails where nobody is left, and the evaluator serves on', async () => {
    const { answers } = await evaluate([welcome, evaluation([]), evaluation([await startDonor(0, [1, 2, 4])])]);
    expect(answers).toContainEqual({
      type: 'evaluationFailed',
      mark: 1,
      reason: 'no replica could be fetched: no worker is left',
    });
    expect(answers).toContainEqual(expect.objectContaining({ type: 'evaluated' }));
  });

  it('reads the replica at the beginning of a longer state', async () => {
    const peers = [await startDonor(0, [1, 2, 4, 100, 100, 100, 100])];
    const { answers } = await evaluate([welcome, evaluation(peers, { stateLength: 7 })]);
    expect(answers).toMatchObject([{ type: 'evaluated', loss: 7 }]);
  });

  it.each([2, 13, 2 ** 31 - 1])('takes no memory for a state of %i values', async (stateLength) => {
    const { answers } = await evaluate([welcome, evaluation([await startDonor(0, [1, 2, 4])], { stateLength })]);
    expect(answers).toEqual([
      {
        type: 'evaluationFailed',
        mark: 1,
        reason: expect.stringMatching(
          `expected a state of 3 to 12 values, .* got ${stateLength}: start it with the run's`,
        ),
      },
    ]);
  });
});

describe('a refused evaluator', () => {
  it.each([
    ['version-mismatch', 'version-mismatch'],
    ['refused', 'refused'],
    ['a code of a later version', 'refused'],
  ])('told %s ends with the code %s', async (code, expected) => {
    await expect(evaluate([{ type: 'refused', code, message: 'not you' }])).rejects.toMatchObject({
      name: 'PreduceError',
      code: expected,
      message: 'not you',
    });
  });

  it('without the token says so', async () => {
    const running = await controller({ core: {}, token: 'secret' });
    toClose.push(running);
    const options = {
      controller: running.url,
      token: null,
      model: createModel(),
      test,
      onFinal: () => Promise.resolve(),
    };
    await expect(runEvaluator(options)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringMatching(/token/),
    });
  });
});
