/**
 * The comm thread's session, in this thread: what it posts when things go wrong.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { assertPresent } from '../base/assert.js';
import { type ControlPeer, type ControlServer, startControlServer } from '../controller/control-server.js';
import { PROTOCOL_VERSION } from '../wire/limits.js';
import type { ControllerMessage } from '../wire/messages.js';
import { type CommSession, startCommSession } from './comm-session.js';
import type { FromCommThread } from './thread-messages.js';

const toClose: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(toClose.splice(0).map((each) => each.close()));
});

const welcome: ControllerMessage = {
  type: 'welcome',
  version: PROTOCOL_VERSION,
  runId: 'r',
  config: { a: 1 },
  heartbeatMs: 1000,
};

interface Started {
  readonly session: CommSession;
  readonly posted: readonly FromCommThread[];
  /** Resolves when nothing is left open. */
  readonly over: Promise<void>;
  readonly peer: ControlPeer;
  readonly server: ControlServer;
}

/** A session whose hello is answered with `answer`. */
async function start(answer: ControllerMessage): Promise<Started> {
  let peer: ControlPeer | null = null;
  const server = await startControlServer({
    address: { host: '127.0.0.1', port: 0 },
    requestTimeoutMs: 5000,
    health: () => ({}),
    accept(accepted) {
      peer = accepted;
      return {
        onMessage: (message) => message.type === 'hello' && accepted.send(answer),
        onClose: () => undefined,
      };
    },
  });
  toClose.push(server);
  const posted: FromCommThread[] = [];
  let session: CommSession | null = null;
  let end: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  await new Promise<void>((resolve, reject) => {
    const options = {
      controller: `ws://127.0.0.1:${server.address.port}`,
      token: null,
      connectTimeoutMs: 1000,
      controllerTimeoutMs: 'auto' as const,
    };
    const post = (message: FromCommThread): void => {
      posted.push(message);
      resolve();
    };
    startCommSession(options, post, end).then((started) => {
      session = started;
    }, reject);
  });
  return { session: assertPresent(session, 'session'), posted, over, peer: assertPresent(peer, 'connection'), server };
}

describe('a comm session', () => {
  it('posts what the controller welcomes it with', async () => {
    const { posted } = await start(welcome);
    expect(posted).toEqual([{ type: 'welcome', runId: 'r', config: { a: 1 } }]);
  });

  it('posts one failure for a message too long to be sent, and ends', async () => {
    const { session, posted, over } = await start(welcome);
    const names = Array.from({ length: 20_000 }, (_, i) => [`${i}`.padEnd(256, 'n'), i]);
    const log = { type: 'log', values: Object.fromEntries(names) as Record<string, number> } as const;
    session.accept(log);
    session.accept(log);
    await over;
    expect(posted.slice(1)).toEqual([
      {
        type: 'failed',
        code: 'bad-message',
        message: expect.stringMatching(
          /^expected to send "log" in a control message of at most 4194304 bytes, got \d+$/,
        ),
        retryable: false,
        details: {},
      },
    ]);
  });

  it.each<[string, ControllerMessage, Partial<FromCommThread>]>([
    [
      'a close',
      { type: 'close', reason: 'the run is over' },
      { type: 'closed', reason: 'the run is over', rejoin: false },
    ],
    [
      'a close after which it may come back',
      { type: 'close', reason: 'declared dead', rejoin: true },
      { type: 'closed', reason: 'declared dead', rejoin: true },
    ],
    [
      'what is not for a worker',
      { type: 'evaluate', mark: 1, final: false, peers: [], runKey: '', stateLength: 0 },
      { type: 'failed', code: 'bad-message' },
    ],
    [
      'a refusal of a known code',
      { type: 'refused', code: 'bad-layout', message: 'other model' },
      { type: 'failed', code: 'bad-layout', message: 'other model' },
    ],
    [
      'a refusal of an unknown code',
      { type: 'refused', code: 'later', message: 'why' },
      { type: 'failed', code: 'refused', message: 'why' },
    ],
    // Before `join` there is nothing to hold the model in.
    ['a seed too early', { type: 'seed' }, { type: 'failed' }],
    [
      'a transfer too early',
      { type: 'transfer', donor: { worker: 1, incarnation: 1, address: { host: '127.0.0.1', port: 9 } } },
      { type: 'failed' },
    ],
  ])('ends once by %s', async (_name, message, last) => {
    const { posted, over, peer } = await start(welcome);
    peer.send(message);
    await over;
    expect(posted).toHaveLength(2);
    expect(posted[1]).toMatchObject(last);
  });

  it('hears nothing after a message that cannot come', async () => {
    const { posted, over, peer } = await start(welcome);
    peer.send({ type: 'seed' });
    peer.send({ type: 'start' });
    await over;
    expect(posted.map(({ type }) => type)).toEqual(['welcome', 'failed']);
  });

  it('fails with connection-lost when the controller goes', async () => {
    const { posted, over, server } = await start(welcome);
    await server.close();
    await over;
    expect(posted[1]).toMatchObject({
      type: 'failed',
      code: 'connection-lost',
      message: expect.stringMatching(/expected the controller at ws:.* to stay, got a closed connection/),
    });
  });

  it('does not start where nobody listens', async () => {
    const { server } = await start(welcome);
    const { port } = server.address;
    await server.close();
    const options = {
      controller: `ws://127.0.0.1:${port}`,
      token: null,
      connectTimeoutMs: 100,
      controllerTimeoutMs: 'auto' as const,
    };
    await expect(
      startCommSession(
        options,
        () => undefined,
        () => undefined,
      ),
    ).rejects.toMatchObject({
      code: 'controller-unreachable',
      retryable: true,
    });
  });
});
