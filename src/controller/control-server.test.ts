import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { connectClient } from '../../test/support/control-client.js';
import { PreduceError } from '../base/errors.js';
import { LIMITS } from '../wire/limits.js';
import type { WorkerMessage } from '../wire/messages.js';
import { type ControlServer, startControlServer } from './control-server.js';

let servers: ControlServer[] = [];

afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
});

/** A server that answers each message with `joined`, so that a test sees that a connection works. */
async function start({ requestTimeoutMs = 5000 } = {}): Promise<{
  readonly server: ControlServer;
  readonly url: string;
  /** As told to `onClose`, in the order of closing. */
  readonly closed: (PreduceError | null)[];
  readonly messages: WorkerMessage[];
  closeNow(): void;
}> {
  const closed: (PreduceError | null)[] = [];
  const messages: WorkerMessage[] = [];
  let closeNow = (): void => undefined;
  const server = await startControlServer({
    address: { host: '127.0.0.1', port: 0 },
    requestTimeoutMs,
    health: () => ({ status: 'ok', workers: 3 }),
    accept(peer) {
      closeNow = () => peer.close();
      peer.prove();
      return {
        onMessage(message) {
          messages.push(message);
          if (message.type === 'finished') throw new PreduceError('protocol-violation', 'é'.repeat(200));
          peer.send({ type: 'joined', worker: 0, incarnation: 1, runKey: peer.remote });
        },
        onClose: (error) => closed.push(error),
      };
    },
  });
  servers.push(server);
  return { server, url: `ws://127.0.0.1:${server.address.port}`, closed, messages, closeNow: () => closeNow() };
}

describe('HTTP', () => {
  it.each([
    ['/healthz', 200, { status: 'ok', workers: 3 }],
    ['/', 404, { error: 'not found' }],
    ['/healthz/x', 404, { error: 'not found' }],
  ])('answers %s with %i', async (path, status, body) => {
    const { server } = await start();
    const response = await fetch(`http://127.0.0.1:${server.address.port}${path}`);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual(body);
  });

  it('closes a connection that sends no request', async () => {
    const { server } = await start({ requestTimeoutMs: 60 });
    const socket: Socket = connect(server.address.port, '127.0.0.1');
    socket.resume();
    await once(socket, 'close');
    expect(socket.destroyed).toBe(true);
  });
});

describe('a connection that breaks the protocol', () => {
  it.each<[string, string | Buffer, number, RegExp, string]>([
    ['text that is no JSON', 'garbage', 1008, /^expected JSON from a worker, got "garbage"$/, 'bad-message'],
    ['an empty message', '', 1008, /^expected JSON from a worker/, 'bad-message'],
    ['JSON of no known type', '{"type":"nonsense"}', 1008, /^expected a control message .* "nonsense"/, 'bad-message'],
    ['a field of a wrong type', '{"type":"synced","k":"x"}', 1008, /"synced" with field "k" wrong/, 'bad-message'],
    [
      'a binary message',
      Buffer.from('{"type":"heartbeat"}'),
      1008,
      /^expected a text message of JSON, got a binary one$/,
      'bad-message',
    ],
    ['a message too long', 'x'.repeat(LIMITS.controlMessageBytesMax + 1), 1009, /^$/, 'bad-message'],
    ['a message at the wrong time', '{"type":"finished"}', 1008, /^é{60}\.\.\.$/, 'protocol-violation'],
  ])('(%s) is closed with one reason, and no other', async (_name, message, code, reason, errorCode) => {
    const { url, closed, messages } = await start();
    const good = await connectClient(url);
    const bad = await connectClient(url);
    bad.send(message);
    // What comes after is not looked at.
    bad.send({ type: 'leave' });
    const end = await bad.closed;
    expect(end.code).toBe(code);
    expect(end.reason).toMatch(reason);
    good.send({ type: 'heartbeat' });
    await good.next('joined');
    expect(messages.map(({ type }) => type)).not.toContain('leave');
    expect(closed).toHaveLength(1);
    expect(closed[0]).toMatchObject({ code: errorCode });
    expect(closed[0]?.message).toMatch(code === 1009 ? /at most 4194304 bytes, got a longer one/ : /./);
  });

  it('may be one message of the greatest length', async () => {
    const { url } = await start();
    const client = await connectClient(url);
    const text = '{"type":"heartbeat"}';
    client.send(text.padEnd(LIMITS.controlMessageBytesMax, ' '));
    await client.next('joined');
  });
});

describe('closing', () => {
  it('by the server is no error', async () => {
    const { url, closed, closeNow } = await start();
    const client = await connectClient(url);
    client.send({ type: 'heartbeat' });
    await client.next('joined');
    closeNow();
    expect(await client.closed).toEqual({ code: 1000, reason: '' });
    await expect.poll(() => closed).toEqual([null]);
  });

  it('by the client is no error', async () => {
    const { url, closed } = await start();
    const client = await connectClient(url);
    client.terminate();
    await client.closed;
    await expect.poll(() => closed).toEqual([null]);
  });

  it('the server ends every connection and frees the port', async () => {
    const { url, server } = await start();
    const client = await connectClient(url);
    await server.close();
    servers = [];
    expect((await client.closed).code).toBe(1006);
    await expect(connectClient(url)).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe('listening', () => {
  const options = { requestTimeoutMs: 1000, health: () => ({}), accept: () => expect.fail('nobody connects') };

  it('fails where the port is in use', async () => {
    const { server } = await start();
    await expect(startControlServer({ ...options, address: server.address })).rejects.toMatchObject({
      code: 'port-unavailable',
      message: expect.stringMatching(/127\.0\.0\.1:\d+, but another program uses it: choose another --port/),
    });
  });

  it('fails at an address of another machine', async () => {
    const address = { host: '192.0.2.1', port: 0 };
    await expect(startControlServer({ ...options, address })).rejects.toMatchObject({ code: 'port-unavailable' });
  });
});
