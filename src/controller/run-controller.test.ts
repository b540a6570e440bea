/**
 * A real controller, its clients driven by hand: handshake, limits, silence.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ControlClient, connectClient, HELLO, JOIN } from '../../test/support/control-client.js';
import { createEventLog } from '../../test/support/event-log.js';
import type { RunEvent } from '../observe/run-events.js';
import { PROTOCOL_VERSION } from '../wire/limits.js';
import { type ControllerOptions, controller, type RunningController } from './run-controller.js';
import { openRunStore } from './run-store.js';

const LONG_MS = 60_000;
const SHORT_MS = 400;

interface TestRun {
  readonly running: RunningController;
  readonly events: readonly RunEvent[];
  /** The first event, past or future, that fits. */
  when(fits: (event: RunEvent) => boolean): Promise<RunEvent>;
  connect(): Promise<ControlClient>;
  /** A worker that has joined and holds the model; `start` may follow. */
  join(): Promise<ControlClient>;
}

const open: RunningController[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((running) => running.close()));
});

async function startRun(options: Partial<ControllerOptions> = {}): Promise<TestRun> {
  const log = createEventLog<RunEvent>();
  const running = await controller({
    core: { livenessMs: LONG_MS },
    ...options,
    onEvent(event) {
      log.add(event);
      options.onEvent?.(event);
    },
  });
  open.push(running);
  const connect = (): Promise<ControlClient> => connectClient(running.url);
  return {
    running,
    events: log.events,
    when: log.when,
    connect,
    async join() {
      const client = await connect();
      client.send(HELLO);
      client.send(JOIN);
      await client.next('joined');
      client.send({ type: 'synced', k: 0 });
      return client;
    },
  };
}

/** Sends heartbeats until the end of the test. */
function keepAlive(client: ControlClient): void {
  const timer = setInterval(() => client.send({ type: 'heartbeat' }), SHORT_MS / 20);
  void client.closed.then(() => clearInterval(timer));
}

describe('hello', () => {
  it('is answered with the run', async () => {
    const { connect } = await startRun({ runId: 'r1', config: { a: [1] }, core: { livenessMs: 1000 } });
    const client = await connect();
    client.send(HELLO);
    expect(await client.next('welcome')).toEqual({
      type: 'welcome',
      version: PROTOCOL_VERSION,
      encrypts: false,
      runId: 'r1',
      config: { a: [1] },
      heartbeatMs: 200,
    });
  });

  it.each([
    [
      'another major version',
      { version: { major: 2, minor: 0 } },
      'version-mismatch',
      /protocol 1\.1, this worker 2\.0/,
    ],
    ['no token', {}, 'refused', /expects a token and got none/],
    ['a wrong token', { token: 'Secret' }, 'refused', /expects a token and got another one/],
  ])('with %s is refused, the connection closed, the run told', async (_name, changes, code, message) => {
    const { connect, when } = await startRun({ token: 'secret' });
    const client = await connect();
    client.send({ ...HELLO, ...changes });
    expect(await client.next('refused')).toMatchObject({ code, message: expect.stringMatching(message) });
    expect((await client.closed).code).toBe(1000);
    expect(await when((event) => event.type === 'fault')).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(message),
    });
  });

  it('with the token and another minor version is welcome', async () => {
    const { connect } = await startRun({ token: 'secret' });
    const client = await connect();
    client.send({ ...HELLO, token: 'secret', version: { major: PROTOCOL_VERSION.major, minor: 9 } });
    await client.next('welcome');
  });

  it.each([
    ['join', JOIN, 'expected "hello" first, got "join"'],
    ['leave', { type: 'leave' } as const, 'expected "hello" first, got "leave"'],
  ])('cannot be left out: %s', async (_name, message, reason) => {
    const { connect } = await startRun();
    const client = await connect();
    client.send(message);
    expect(await client.closed).toEqual({ code: 1008, reason });
  });

  it('cannot come twice', async () => {
    const { connect } = await startRun();
    const client = await connect();
    client.send(HELLO);
    client.send(HELLO);
    expect(await client.closed).toEqual({
      code: 1008,
      reason: 'expected "join" or "resume" after "hello", got "hello"',
    });
  });
});

describe('join', () => {
  it('with another layout is refused, naming both', async () => {
    const { join, connect } = await startRun();
    await join();
    const client = await connect();
    client.send(HELLO);
    client.send({ ...JOIN, layout: [{ name: 'x', shape: [2, 2] }] });
    expect(await client.next('refused')).toMatchObject({
      code: 'bad-layout',
      message: expect.stringMatching(/tensor 0 is "x" \[2, 2\] where the run has "x" \[4\]/),
    });
    await client.closed;
  });

  it('with the number of a living worker is refused', async () => {
    const { join, connect } = await startRun();
    await join();
    const client = await connect();
    client.send(HELLO);
    client.send({ ...JOIN, worker: 0 });
    expect(await client.next('refused')).toMatchObject({ code: 'refused', message: expect.stringMatching(/worker 0/) });
  });

  it('gives the next number, and the first life', async () => {
    const { join, connect } = await startRun();
    await join();
    const client = await connect();
    client.send(HELLO);
    client.send(JOIN);
    expect(await client.next('joined')).toMatchObject({ worker: 1, incarnation: 1 });
    // From the first worker.
    expect(await client.next('transfer')).toMatchObject({ donor: { worker: 0, address: JOIN.address } });
  });

  it('after the run is refused', async () => {
    const { running, connect } = await startRun();
    running.stop('enough');
    const client = await connect();
    client.send(HELLO);
    client.send(JOIN);
    expect(await client.next('refused')).toMatchObject({ message: expect.stringMatching(/enough/) });
    await running.ended;
  });
});

describe('an evaluator', () => {
  const evaluator = { ...HELLO, role: 'evaluator' } as const;

  it('is the only one', async () => {
    const { connect } = await startRun();
    const first = await connect();
    first.send(evaluator);
    await first.next('welcome');
    const second = await connect();
    second.send(evaluator);
    expect(await second.next('refused')).toMatchObject({
      code: 'refused',
      message: 'this run has an evaluator already',
    });
    await second.closed;
    first.terminate();
    await first.closed;
    // The place is free again as soon as the controller knows.
    await expect
      .poll(async () => {
        const third = await connect();
        third.send(evaluator);
        return third.next('welcome').then(
          () => 'welcome',
          () => 'refused',
        );
      })
      .toBe('welcome');
  });
});

describe('a connection that says nothing', () => {
  it.each([
    ['from the beginning', [], /expected "hello" within the liveness time-out of 400 ms/],
    ['after hello', [HELLO], /expected "join", "resume" or a heartbeat within the liveness time-out of 400 ms/],
  ])('%s is closed', async (_name, messages, reason) => {
    const { connect } = await startRun({ core: { livenessMs: SHORT_MS } });
    const client = await connect();
    for (const message of messages) client.send(message);
    expect(await client.next('refused')).toMatchObject({ code: 'refused', message: expect.stringMatching(reason) });
    await client.closed;
  });

  it('but heartbeats instead of hello is closed', async () => {
    const { connect } = await startRun({ core: { livenessMs: SHORT_MS } });
    const client = await connect();
    keepAlive(client);
    await client.next('refused');
  });

  it('but heartbeats after hello stays', async () => {
    const { connect } = await startRun({ core: { livenessMs: SHORT_MS } });
    const busy = await connect();
    busy.send(HELLO);
    keepAlive(busy);
    // As long as a silent one that came later takes to be closed.
    const silent = await connect();
    await silent.next('refused');
    busy.send(JOIN);
    await busy.next('joined');
  });
});

describe('a worker that stops its heartbeats', () => {
  const core = { livenessMs: 1000, minWorkers: 1, groupSize: 2 };

  it('is suspect, and itself again when it speaks', async () => {
    const { running, join, when } = await startRun({ core });
    const client = await join();
    await client.next('start');
    expect(await when((event) => event.type === 'fault')).toMatchObject({
      kind: 'suspect',
      worker: 0,
      message: expect.stringMatching(/^no sign of life for \d+ ms$/),
    });
    expect(running.view().workers.map((worker) => worker.state)).toEqual(['suspect']);
    client.send({ type: 'heartbeat' });
    await expect.poll(() => running.view().workers.map((worker) => worker.state)).toEqual(['computing']);
    // The same life goes on.
    client.send({ type: 'log', values: { x: 1 } });
    expect(await when((event) => event.type === 'logged')).toMatchObject({ worker: 0, values: { x: 1 } });
  });

  it('is dead after the liveness time-out, told so and let go', async () => {
    const { join, when, running } = await startRun({ core });
    const client = await join();
    await client.next('start');
    expect(await client.next('close')).toMatchObject({
      reason: expect.stringMatching(/^declared dead: no sign of life/),
    });
    await client.closed;
    expect(await when((event) => event.type === 'workerDead')).toMatchObject({ worker: 0 });
    await running.ended;
  });

  it('and comes again under its number has a second life', async () => {
    const { join, connect, when } = await startRun({ core: { ...core, minWorkers: 2, livenessMs: LONG_MS } });
    const first = await join();
    await join();
    first.terminate();
    await when((event) => event.type === 'fault' && event.kind === 'suspect');
    const again = await connect();
    again.send(HELLO);
    again.send({ ...JOIN, worker: 0 });
    expect(await again.next('joined')).toMatchObject({ worker: 0, incarnation: 2 });
    expect(await when((event) => event.type === 'workerDead')).toMatchObject({ worker: 0 });
  });
});

describe('a worker that breaks the protocol', () => {
  it.each([
    ['text that is no message', '{}', /a control message from a worker/],
    [
      'a message of the evaluator',
      '{"type":"evaluationFailed","mark":1,"reason":""}',
      /is not for a worker that has joined/,
    ],
  ])('(%s) is closed, then suspect, and the others go on', async (_name, message, reason) => {
    const { join, when } = await startRun();
    const bad = await join();
    const good = await join();
    bad.send(message);
    expect(await bad.closed).toEqual({ code: 1008, reason: expect.stringMatching(reason) });
    expect(await when((event) => event.type === 'fault')).toMatchObject({
      kind: 'suspect',
      worker: 0,
      message: expect.stringMatching(reason),
    });
    good.send({ type: 'log', values: { x: 1 } });
    expect(await when((event) => event.type === 'logged')).toMatchObject({ worker: 1 });
  });

  it('at the wrong time is told why and is dead', async () => {
    const { join, when } = await startRun();
    const client = await join();
    client.send({ type: 'leaseRequest', finished: null });
    const close = await client.next('close');
    expect(close.reason).toMatch(/^protocol violation: asked for a lease/);
    await client.closed;
    expect(await when((event) => event.type === 'fault')).toMatchObject({ kind: 'violation', worker: 0 });
    await when((event) => event.type === 'workerDead');
  });
});

describe('a run', () => {
  it('can be stopped from within an event, in order', async () => {
    let stop = (): void => undefined;
    const run = await startRun({
      core: { livenessMs: LONG_MS, minWorkers: 1 },
      onEvent: (event) => event.type === 'started' && stop(),
    });
    stop = () => run.running.stop('at the start');
    const client = await run.join();
    // Told to start before it is told to stop.
    await client.next('start');
    expect(await client.next('finish')).toMatchObject({ reason: 'at the start' });
    client.send({ type: 'finished' });
    expect(await client.next('group')).toMatchObject({ kind: 'final', members: [{ worker: 0, weight: 1 }] });
  });

  it('ends by its duration', async () => {
    const { join } = await startRun({ core: { livenessMs: LONG_MS, minWorkers: 1 }, durationMs: 1 });
    const client = await join();
    expect(await client.next('finish')).toMatchObject({ reason: 'the time is up' });
  });

  it('tells its health', async () => {
    const { running, join } = await startRun({ runId: 'r2' });
    await join();
    const response = await fetch(`${running.url.replace('ws:', 'http:')}/healthz`);
    expect(await response.json()).toEqual({ status: 'ok', runId: 'r2', workers: 1, started: false });
  });

  it('has an address for workers on IPv6, too', async () => {
    const { running } = await startRun({ address: { host: '::1', port: 0 } });
    expect(running.url).toBe(`ws://[::1]:${running.address.port}`);
    const client = await connectClient(running.url);
    client.send(HELLO);
    await client.next('welcome');
  });

  it.each([
    ['a bad setting', { core: { groupSize: 1 } }, 'bad-config'],
    ['an address of another machine', { address: { host: '192.0.2.1', port: 0 } }, 'port-unavailable'],
  ])('does not start with %s', async (_name, options, code) => {
    await expect(startRun(options)).rejects.toMatchObject({ code });
  });
});

describe('a controller that goes on with a run', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(`${tmpdir()}/preduce-run-controller-`);
  });

  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  it('does not wait for ever for workers that never come back, even if nobody ever comes', async () => {
    const core = { livenessMs: 100, minWorkers: 1 };
    const first = await openRunStore(directory);
    const { running, join: joinRun } = await startRun({ core, store: first });
    await (await joinRun()).next('start');
    await running.close();
    first.close();

    const second = await openRunStore(directory);
    const { when } = await startRun({ core, store: second });
    const dead = await when(({ type }) => type === 'workerDead');
    expect(dead).toMatchObject({ worker: 0, reason: expect.stringMatching(/did not come back/) as string });
    second.close();
  });
});
