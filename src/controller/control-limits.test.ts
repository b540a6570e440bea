/**
 * What happens at the controller's limits, made small here so that a few connections reach them: it survives, and serves others.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type ControlClient, connectClient, HELLO } from '../../test/support/control-client.js';
import { controller, type RunningController } from './run-controller.js';

vi.mock('../wire/limits.js', async (load) => {
  const actual = await load<typeof import('../wire/limits.js')>();
  const small = {
    controlConnectionsMax: 12,
    unprovenPerAddressMax: 4,
    unprovenBytesMax: 2000,
    controlMessagesPerSecondMax: 500,
    controlBytesPerSecondMax: 100_000,
  };
  return { ...actual, LIMITS: { ...actual.LIMITS, ...small } };
});

const TOKEN = 'a secret';

let running: RunningController | null = null;
const strangers: Socket[] = [];

afterEach(async () => {
  for (const socket of strangers.splice(0)) socket.destroy();
  await running?.close();
});

async function start(): Promise<string> {
  running = await controller({ core: { minWorkers: 2 }, token: TOKEN });
  return running.url;
}

/** A client that the controller has let in. */
async function connectKnown(url: string): Promise<ControlClient> {
  const client = await connectClient(url);
  client.send({ ...HELLO, token: TOKEN });
  await client.next('welcome');
  return client;
}

/** A connection that says nothing. */
async function connectStranger(): Promise<Socket> {
  const { port } = running?.address ?? { port: 0 };
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.resume();
  strangers.push(socket);
  await once(socket, 'connect');
  return socket;
}

describe('a controller at its limits', () => {
  it('drops the oldest silent connection of an address, not those that are let in', async () => {
    const url = await start();
    const known = await connectKnown(url);
    const first = await connectStranger();
    const dropped = once(first, 'close');
    for (let i = 0; i < 4; i += 1) await connectStranger();
    await dropped;
    await connectKnown(url);
    known.send({ type: 'heartbeat' });
    expect(await isOpen(known)).toBe(true);
  });

  it('takes no more connections than it may have, and takes others when some are gone', async () => {
    const url = await start();
    const known: ControlClient[] = [];
    for (let i = 0; i < 12; i += 1) known.push(await connectKnown(url));
    await expect(connectKnown(url)).rejects.toThrow();
    expect(await isOpen(known[0] as ControlClient)).toBe(true);
    known[5]?.terminate();
    await vi.waitFor(() => connectKnown(url));
  });

  it('cuts off a stranger that says much, and hears a long message of a worker', async () => {
    const url = await start();
    const stranger = await connectClient(url);
    stranger.send(JSON.stringify({ ...HELLO, token: 'x'.repeat(3000) }));
    expect(await stranger.closed).toEqual({ code: 1006, reason: '' });
    const known = await connectKnown(url);
    known.send(JSON.stringify({ type: 'heartbeat' }).padEnd(50_000));
    expect(await isOpen(known)).toBe(true);
  });

  it('reads a flood of messages slowly, and all of it, while others are heard', async () => {
    const url = await start();
    const flooding = await connectKnown(url);
    for (let i = 0; i < 600; i += 1) flooding.send({ type: 'heartbeat' });
    // Wrong at this point: the answer shows that all before it was read.
    flooding.send({ type: 'leave' });
    let isRead = false;
    const read = flooding.closed.then((end) => {
      isRead = true;
      return end;
    });
    for (let i = 0; i < 3; i += 1) await connectKnown(url);
    expect(isRead).toBe(false);
    expect(await read).toMatchObject({ code: 1008, reason: expect.stringContaining('got "leave"') as string });
  });
});

/** Whether a client is still heard: its connection answers a WebSocket ping. */
async function isOpen(client: ControlClient): Promise<boolean> {
  return Promise.race([client.closed.then(() => false), client.answered()]);
}
