/**
 * Workers that hang (algorithms.md 3.3): stopped for shorter and for longer than the liveness time-out, and one that heartbeats
 * while it moves no data. The others go on, and whoever comes back is taken back, or joins as a new worker.
 */
import { createServer, type Server, type Socket } from 'node:net';
import type { RunEvent } from 'preduce/client';
import { afterEach, describe, expect, it } from 'vitest';
import { connectClient, type ControlClient, HELLO, JOIN } from '../support/control-client.js';
import { type Fleet, startFleet } from './fleet.js';

const LENGTH = 1000;

let fleet: Fleet | null = null;
const toClose: (() => void)[] = [];

afterEach(async () => {
  for (const close of toClose.splice(0)) close();
  await fleet?.close();
  fleet = null;
});

async function startWorkers(count: number, core: Parameters<typeof startFleet>[0]['core']): Promise<Fleet> {
  fleet = await startFleet({ core, length: LENGTH });
  for (let i = 0; i < count; i += 1) fleet.start();
  return fleet;
}

/** The run ends, all these processes exit with 0, and hold the same final value. */
async function expectEnd(of: Fleet): Promise<Extract<RunEvent, { type: 'runEnded' }>> {
  const ended = await of.when((event) => event.type === 'runEnded');
  await of.running.ended;
  for (const worker of of.workers) {
    expect({ ...(await worker.exited), stderr: worker.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  }
  const values = of.workers.map((worker) => worker.finalValue);
  expect(values[0]).toBeGreaterThan(0);
  expect(new Set(values).size).toBe(1);
  return ended as Extract<RunEvent, { type: 'runEnded' }>;
}

describe('SIGSTOP of a worker', () => {
  it('for less than the time-out: it goes on with the replica that it had', async () => {
    const of = await startWorkers(3, { minWorkers: 3, maxLocalSteps: 500, livenessMs: 3000 });
    await of.when((event) => event.type === 'ready' && event.worker === 1 && event.k > 5);
    of.processOf(1).process.kill('SIGSTOP');
    await of.when((event) => event.type === 'fault' && event.kind === 'suspect' && event.worker === 1);
    const stepsBefore = of.running.view().workers.find(({ worker }) => worker === 1)?.localSteps ?? 0;
    of.processOf(1).process.kill('SIGCONT');
    const ended = await expectEnd(of);
    expect(ended.holders).toEqual([0, 1, 2]);
    expect(of.events.filter(({ type }) => type === 'workerDead')).toEqual([]);
    expect(of.running.view().workers.find(({ worker }) => worker === 1)?.localSteps).toBeGreaterThan(stepsBefore);
  });

  it('for more: its life is over, and it joins as a new worker when it wakes', async () => {
    const of = await startWorkers(3, { minWorkers: 3, maxLocalSteps: null, livenessMs: 1000 });
    await of.when((event) => event.type === 'ready' && event.worker === 1 && event.k > 5);
    const paused = of.processOf(1).process;
    paused.kill('SIGSTOP');
    await of.when((event) => event.type === 'workerDead' && event.worker === 1);
    const deadAt = of.events.length;
    paused.kill('SIGCONT');
    const joined = await of.when((event) => event.type === 'workerJoined' && event.worker === 3);
    expect(joined).toMatchObject({ pid: paused.pid });
    await of.when((event) => event.type === 'ready' && event.worker === 3);
    of.running.stop('seen enough');
    const ended = await expectEnd(of);
    expect(ended.holders).toEqual([0, 2, 3]);
    // Nothing that the old life said after its death had an effect.
    const late = of.events.slice(deadAt).filter((event) => 'worker' in event && event.worker === 1);
    expect(late).toEqual([]);
  });
});

/** Accepts data connections and says nothing on them. */
async function openDeafPort(): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  toClose.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

/** Joins, heartbeats and says that it is ready; in its groups it does nothing at all. */
async function joinAndHang(url: string, livenessMs: number): Promise<ControlClient> {
  const client = await connectClient(url);
  client.send(HELLO);
  await client.next('welcome');
  const heartbeat = setInterval(() => client.send({ type: 'heartbeat' }), livenessMs / 5);
  toClose.push(() => {
    clearInterval(heartbeat);
    client.terminate();
  });
  void client.closed.then(() => clearInterval(heartbeat));
  client.send({
    ...JOIN,
    layout: [{ name: 'x', shape: [LENGTH] }],
    exchangeLength: LENGTH,
    stateLength: LENGTH,
    address: { host: '127.0.0.1', port: await openDeafPort() },
  });
  return client;
}

describe('a worker that heartbeats and moves no data', () => {
  it('loses its group, which the others leave behind, then its place', async () => {
    const livenessMs = 1000;
    const of = await startWorkers(2, { minWorkers: 3, maxLocalSteps: null, livenessMs });
    await of.when((event) => event.type === 'workerSynced' && event.worker === 1);
    const hanging = await joinAndHang(of.running.url, livenessMs);
    await hanging.next('transfer');
    hanging.send({ type: 'synced', k: 0 });
    await hanging.next('start');
    hanging.send({
      type: 'ready',
      k: 1,
      finite: true,
      samples: 1,
      loss: null,
      computeMs: 1,
      paddingMs: 0,
      overrun: false,
    });
    const { group } = await hanging.next('group');
    const accusation = await of.when((event) => event.type === 'fault' && event.kind === 'stalled');
    expect(accusation).toMatchObject({
      worker: 2,
      message: expect.stringContaining(`worker 2 held up group ${group}`),
    });
    expect(await of.when((event) => event.type === 'workerDead')).toMatchObject({ worker: 2 });
    await of.when(
      (event) => event.type === 'groupFormed' && event.group > group && !event.members.includes(2 as never),
    );
    expect(await hanging.next('close')).toMatchObject({ rejoin: true });
    of.running.stop('seen enough');
    expect((await expectEnd(of)).holders).toEqual([0, 1]);
  });
});
