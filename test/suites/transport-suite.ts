/**
 * What every transport must do. Tests wait on events of the connections, never on time.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { PreduceError } from '../../src/base/errors.js';
import { groupId } from '../../src/base/ids.js';
import { createRandom } from '../../src/base/random.js';
import type { Connection, Listener, Transport } from '../../src/transport/transport.js';
import type { Frame } from '../../src/wire/frame.js';
import { LIMITS } from '../../src/wire/limits.js';
import type { Address } from '../../src/wire/messages.js';

export interface TransportHarness {
  readonly createTransport: () => Transport;
  /** Connects without a transport, sends these bytes, and waits for the connection's end; left out where no such way in exists. */
  readonly sendRaw?: (address: Address, bytes: Uint8Array) => Promise<void>;
}

/** One end of a connection, with what it was told. */
interface End {
  readonly connection: Connection;
  /** Payloads are copies. */
  readonly frames: Frame[];
  /** One entry for each call of onClose. */
  readonly closes: (Error | null)[];
  /** Resolves when `condition` holds; it is looked at after each event of this end. */
  until(condition: (end: End) => boolean): Promise<void>;
}

interface Pair {
  readonly near: End;
  readonly far: End;
  readonly listener: Listener;
}

const LOCAL: Address = { host: '127.0.0.1', port: 0 };
const NEVER = new AbortController().signal;

let listeners: Listener[] = [];

afterEach(async () => {
  await Promise.all(listeners.map((listener) => listener.close()));
  listeners = [];
});

/** A recorder of what one end is told; `onFrame` runs after a frame was noted, and may throw. */
function createEnd(
  connection: Connection,
  onFrame: (frame: Frame, end: End) => void = () => undefined,
): [End, Handlers] {
  const waiting = new Set<() => void>();
  const end: End = {
    connection,
    frames: [],
    closes: [],
    until(condition) {
      return new Promise((resolve) => {
        const look = (): void => {
          if (!condition(end)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      });
    },
  };
  const note = (): void => {
    for (const look of waiting) look();
  };
  const handlers: Handlers = {
    onFrame(frame) {
      end.frames.push({ ...frame, payload: frame.payload.slice() });
      note();
      onFrame(frame, end);
    },
    onClose(reason) {
      end.closes.push(reason);
      note();
    },
  };
  return [end, handlers];
}

type Handlers = ReturnType<Parameters<Transport['listen']>[1]>;

/** Two connected ends; `onFrame` is what the far end, the one that accepted, does with a frame. */
async function connectPair(transport: Transport, onFrame?: (frame: Frame, end: End) => void): Promise<Pair> {
  let far: End | null = null;
  let accepted: () => void = () => undefined;
  const acceptance = new Promise<void>((resolve) => {
    accepted = resolve;
  });
  const listener = await transport.listen(LOCAL, (connection) => {
    const [end, handlers] = createEnd(connection, onFrame);
    far = end;
    accepted();
    return handlers;
  });
  listeners.push(listener);
  const near = await dial(transport, listener.address);
  await acceptance;
  return { near, far: far as unknown as End, listener };
}

async function dial(transport: Transport, address: Address, signal = NEVER): Promise<End> {
  let made: End | null = null;
  await transport.dial(
    address,
    (connection) => {
      const [end, handlers] = createEnd(connection);
      made = end;
      return handlers;
    },
    { signal },
  );
  return made as unknown as End;
}

function frameOf(offset: number, payload: Uint8Array = new Uint8Array(0)): Frame {
  return { type: 'segment-reduce', sender: 1, incarnation: 2, group: groupId(3, 4), part: 5, offset, payload };
}

/** Payloads of all sizes that matter, from nothing to the largest. */
function mixedFrames(count: number): Frame[] {
  const random = createRandom(11);
  return Array.from({ length: count }, (_, i) => {
    const bytesMax = [1, 5, 4096, 200_000][random.below(4)] as number;
    const length = i === 0 ? LIMITS.framePayloadBytesMax : random.below(bytesMax);
    return frameOf(i, new Uint8Array(length).fill(i % 251));
  });
}

/** A round trip on a connection of its own: every transport has had the time to move what it could. */
async function settle(transport: Transport): Promise<() => Promise<void>> {
  const { near, far } = await connectPair(transport);
  let trips = 0;
  return async () => {
    trips += 1;
    await near.connection.send(frameOf(trips));
    await far.until((end) => end.frames.length === trips);
    await far.connection.send(frameOf(trips));
    await near.until((end) => end.frames.length === trips);
  };
}

/** Sends until told to stop, HELD_FRAMES_MAX frames at most; `sent` counts the frames whose `send` has resolved. */
function pump(end: End, payloadBytes: number) {
  const state = { sent: 0, stopped: false };
  const payload = new Uint8Array(payloadBytes);
  async function run(): Promise<void> {
    while (!state.stopped && state.sent < HELD_FRAMES_MAX) {
      await end.connection.send(frameOf(state.sent, payload));
      state.sent += 1;
    }
  }
  return { state, ended: run() };
}

/** Resolves when `count` has stayed the same for 30 round trips; a sender that nothing holds up moves in each. */
async function untilStuck(roundTrip: () => Promise<void>, count: () => number): Promise<void> {
  for (let quiet = 0, last = -1; quiet < 30; ) {
    await roundTrip();
    quiet = count() === last ? quiet + 1 : 0;
    last = count();
  }
}

const SEND_BYTES = 256 * 1024;
/** More than any kernel buffers on both sides of a loopback connection by default (4 MiB to send, 6 MiB to receive). */
const HELD_FRAMES_MAX = 128;

function describeDelivery(createTransport: () => Transport): void {
  it('delivers frames whole and in order, of any size, in both directions', async () => {
    const { near, far } = await connectPair(createTransport());
    const frames = mixedFrames(200);
    const sendAll = async (from: End): Promise<void> => {
      for (const frame of frames) await from.connection.send(frame);
    };
    await Promise.all([sendAll(near), sendAll(far)]);
    for (const end of [near, far]) {
      await end.until(() => end.frames.length === frames.length);
      for (const [i, frame] of frames.entries()) {
        const { payload, ...fields } = end.frames[i] as Frame;
        const { payload: _, ...expected } = frameOf(i);
        expect(fields).toEqual(expected);
        expect(Buffer.compare(payload, frame.payload)).toBe(0);
      }
    }
  });

  it('keeps the order of frames that are sent without waiting', async () => {
    const { near, far } = await connectPair(createTransport());
    await Promise.all(Array.from({ length: 3000 }, (_, i) => near.connection.send(frameOf(i, new Uint8Array(i % 7)))));
    await far.until((end) => end.frames.length === 3000);
    expect(far.frames.map((frame) => frame.offset)).toEqual(Array.from({ length: 3000 }, (_, i) => i));
  });

  it('lets the sender reuse the payload once `send` has resolved', async () => {
    const { near, far } = await connectPair(createTransport());
    far.connection.pause();
    const payload = new Uint8Array(1000);
    for (let i = 0; i < 20; i += 1) {
      payload.fill(i);
      await near.connection.send(frameOf(i, payload));
    }
    payload.fill(255);
    far.connection.resume();
    await far.until((end) => end.frames.length === 20);
    far.frames.forEach((frame, i) => expect(frame.payload).toEqual(new Uint8Array(1000).fill(i)));
  });

  it('sends what is a view in the middle of a larger buffer, shared memory too', async () => {
    const { near, far } = await connectPair(createTransport());
    const shared = new Uint8Array(new SharedArrayBuffer(64)).map((_, i) => i);
    await near.connection.send(frameOf(0, shared.subarray(8, 16)));
    await far.until((end) => end.frames.length === 1);
    expect([...(far.frames[0] as Frame).payload]).toEqual([8, 9, 10, 11, 12, 13, 14, 15]);
  });

  it('never delivers within `send`', async () => {
    const { near, far } = await connectPair(createTransport());
    const sending = near.connection.send(frameOf(0));
    expect(far.frames).toEqual([]);
    await sending;
    await far.until((end) => end.frames.length === 1);
  });

  it('lets a handler answer', async () => {
    const { near } = await connectPair(createTransport(), (frame, end) => {
      void end.connection.send(frameOf(frame.offset + 1000));
    });
    for (let i = 0; i < 5; i += 1) await near.connection.send(frameOf(i));
    await near.until((end) => end.frames.length === 5);
    expect(near.frames.map((frame) => frame.offset)).toEqual([1000, 1001, 1002, 1003, 1004]);
  });
}

function describeBackPressure(createTransport: () => Transport): void {
  it('makes a sender wait while the receiver is paused, and loses nothing', async () => {
    const transport = createTransport();
    const { near, far } = await connectPair(transport);
    const roundTrip = await settle(transport);
    far.connection.pause();
    const { state, ended } = pump(near, SEND_BYTES);
    await untilStuck(roundTrip, () => state.sent);
    expect(state.sent).toBeLessThan(HELD_FRAMES_MAX);
    expect(far.frames).toEqual([]);
    state.stopped = true;
    far.connection.resume();
    await ended;
    await far.until((end) => end.frames.length === state.sent);
    expect(far.frames.map((frame) => frame.offset)).toEqual(Array.from({ length: state.sent }, (_, i) => i));
  });

  it('rejects a send that waits when either end destroys the connection', async () => {
    for (const destroyer of ['near', 'far'] as const) {
      const transport = createTransport();
      const pair = await connectPair(transport);
      const roundTrip = await settle(transport);
      pair.far.connection.pause();
      const { state, ended } = pump(pair.near, SEND_BYTES);
      const outcome = ended.catch((error: unknown) => error);
      await untilStuck(roundTrip, () => state.sent);
      pair[destroyer].connection.destroy(new Error('enough'));
      expect(await outcome).toMatchObject({ code: 'connection-lost' });
      await pair.near.until((end) => end.closes.length > 0);
    }
  });

  it('delivers nothing after a pause in the middle of a burst, and the rest after the resume', async () => {
    const pauseAt = new Set([0, 3, 4, 9]);
    const transport = createTransport();
    const { near, far } = await connectPair(transport, (frame, end) => {
      if (pauseAt.has(frame.offset)) end.connection.pause();
    });
    const roundTrip = await settle(transport);
    await Promise.all(Array.from({ length: 12 }, (_, i) => near.connection.send(frameOf(i, new Uint8Array(3)))));
    for (const paused of pauseAt) {
      await far.until((end) => end.frames.length === paused + 1);
      for (let i = 0; i < 5; i += 1) await roundTrip();
      expect(far.frames.length).toBe(paused + 1);
      far.connection.resume();
    }
    await far.until((end) => end.frames.length === 12);
    expect(far.frames.map((frame) => frame.offset)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('keeps the order when a handler pauses and resumes at once', async () => {
    const { near, far } = await connectPair(createTransport(), (frame, end) => {
      end.connection.pause();
      end.connection.resume();
      end.connection.resume();
      if (frame.offset === 5) end.connection.pause();
      if (frame.offset === 5) end.connection.resume();
    });
    await Promise.all(Array.from({ length: 50 }, (_, i) => near.connection.send(frameOf(i))));
    await far.until((end) => end.frames.length === 50);
    expect(far.frames.map((frame) => frame.offset)).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });
}

function describeEnds(createTransport: () => Transport): void {
  it.each(['near', 'far'] as const)('delivers what was sent before the %s end closed', async (closer) => {
    const pair = await connectPair(createTransport());
    const other = closer === 'near' ? pair.far : pair.near;
    const frames = mixedFrames(30);
    const sends = frames.map((frame) => pair[closer].connection.send(frame));
    pair[closer].connection.close();
    await Promise.all(sends);
    await Promise.all([other, pair[closer]].map((end) => end.until(() => end.closes.length > 0)));
    expect(other.frames.length).toBe(frames.length);
    expect([pair.near.closes, pair.far.closes]).toEqual([[null], [null]]);
  });

  it('delivers what was sent before a close to a receiver that is paused, once it resumes', async () => {
    const transport = createTransport();
    const { near, far } = await connectPair(transport);
    const roundTrip = await settle(transport);
    far.connection.pause();
    await near.connection.send(frameOf(0, new Uint8Array(10)));
    near.connection.close();
    for (let i = 0; i < 5; i += 1) await roundTrip();
    expect([far.frames, far.closes]).toEqual([[], []]);
    far.connection.resume();
    await far.until((end) => end.closes.length > 0);
    expect(far.frames.length).toBe(1);
    expect(far.closes).toEqual([null]);
  });

  it.each(['near', 'far'] as const)('ends both sides when the %s end is destroyed', async (destroyer) => {
    const pair = await connectPair(createTransport());
    const other = destroyer === 'near' ? pair.far : pair.near;
    const reason = new Error('the reason');
    pair[destroyer].connection.destroy(reason);
    expect(pair[destroyer].closes).toEqual([]);
    await Promise.all([other, pair[destroyer]].map((end) => end.until(() => end.closes.length > 0)));
    expect(pair[destroyer].closes).toEqual([reason]);
    expect(other.closes).toMatchObject([{ code: 'connection-lost', retryable: true }]);
  });

  it('delivers nothing more once the receiver has destroyed the connection', async () => {
    const { near, far } = await connectPair(createTransport(), (frame, end) => {
      if (frame.offset === 2) end.connection.destroy(new Error('enough'));
    });
    await Promise.allSettled(Array.from({ length: 10 }, (_, i) => near.connection.send(frameOf(i))));
    await Promise.all([near, far].map((end) => end.until(() => end.closes.length > 0)));
    expect(far.frames.map((frame) => frame.offset)).toEqual([0, 1, 2]);
  });

  it('calls onClose exactly once, whatever is done to both ends and how often', async () => {
    const random = createRandom(3);
    const transport = createTransport();
    const roundTrip = await settle(transport);
    for (let round = 0; round < 20; round += 1) {
      const { near, far } = await connectPair(transport);
      for (let act = 0; act < 4; act += 1) {
        const { connection } = random.below(2) === 0 ? near : far;
        if (random.below(2) === 0) connection.close();
        else connection.destroy(new Error('enough'));
        if (random.below(3) === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await Promise.all([near, far].map((end) => end.until(() => end.closes.length > 0)));
      await roundTrip();
      expect([near.closes.length, far.closes.length]).toEqual([1, 1]);
    }
  });

  it.each(['close', 'destroy'] as const)('refuses to send after a %s', async (how) => {
    const { near, far } = await connectPair(createTransport());
    if (how === 'close') near.connection.close();
    else near.connection.destroy(new Error('enough'));
    await expect(near.connection.send(frameOf(0))).rejects.toMatchObject({ code: 'connection-lost' });
    await far.until((end) => end.closes.length > 0);
    await expect(far.connection.send(frameOf(0))).rejects.toMatchObject({ code: 'connection-lost' });
  });
}

function describeAddresses(createTransport: () => Transport): void {
  it('gives each listener a port of its own', async () => {
    const transport = createTransport();
    const pairs = [await connectPair(transport), await connectPair(transport)];
    const ports = pairs.map(({ listener }) => listener.address.port);
    expect(new Set(ports).size).toBe(2);
    expect(Math.min(...ports)).toBeGreaterThan(0);
  });

  it('refuses a port that is in use, and takes it once it is free', async () => {
    const transport = createTransport();
    const { listener } = await connectPair(transport);
    const again = () => transport.listen(listener.address, (connection) => createEnd(connection)[1]);
    await expect(again()).rejects.toMatchObject({ code: 'port-unavailable' });
    await listener.close();
    const second = await again();
    listeners.push(second);
    expect(second.address).toMatchObject({ host: listener.address.host, port: listener.address.port });
    await dial(transport, second.address);
  });

  it('fails to dial where nobody listens, or listens no more', async () => {
    const transport = createTransport();
    const { listener } = await connectPair(transport);
    await listener.close();
    await expect(dial(transport, listener.address)).rejects.toMatchObject({ code: 'connection-lost', retryable: true });
  });

  it('gives up a dial whose signal has fired before', async () => {
    const transport = createTransport();
    const { listener } = await connectPair(transport);
    await expect(dial(transport, listener.address, AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
  });

  it('gives up a dial whose signal fires meanwhile, and takes the next one', async () => {
    const transport = createTransport();
    const { listener } = await connectPair(transport);
    const abort = new AbortController();
    const dialling = dial(transport, listener.address, abort.signal);
    abort.abort();
    await expect(dialling).rejects.toMatchObject({ code: 'aborted' });
    await dial(transport, listener.address);
  });

  it('leaves a connection alone when the signal of its dial fires later', async () => {
    const transport = createTransport();
    const { far, listener } = await connectPair(transport, (frame, end) => void end.connection.send(frame));
    const abort = new AbortController();
    const near = await dial(transport, listener.address, abort.signal);
    abort.abort();
    await near.connection.send(frameOf(7));
    await near.until((end) => end.frames.length === 1);
    expect(near.closes).toEqual([]);
    expect(far.closes).toEqual([]);
  });

  it('ends its connections when a listener closes, which may be done twice', async () => {
    const { near, far, listener } = await connectPair(createTransport());
    await Promise.all([listener.close(), listener.close()]);
    await Promise.all([near, far].map((end) => end.until(() => end.closes.length > 0)));
    expect([...near.closes, ...far.closes]).toMatchObject([{ code: 'connection-lost' }, { code: 'connection-lost' }]);
  });
}

function describeBadFrames({ createTransport, sendRaw }: TransportHarness): void {
  it('ends only the connection on which a frame came that the receiver refuses', async () => {
    const transport = createTransport();
    const { near, far, listener } = await connectPair(transport, (frame) => {
      if (frame.offset === 9) throw new PreduceError('bad-frame', 'expected anything but 9');
    });
    const second = await dial(transport, listener.address);
    await near.connection.send(frameOf(9));
    await Promise.all([near, far].map((end) => end.until(() => end.closes.length > 0)));
    expect(far.closes).toMatchObject([{ code: 'bad-frame' }]);
    expect(near.closes).toMatchObject([{ code: 'connection-lost' }]);
    await second.connection.send(frameOf(1));
    await dial(transport, listener.address);
    expect(second.closes).toEqual([]);
  });

  if (sendRaw === undefined) return;
  it('ends a connection that brings garbage, and goes on listening', async () => {
    const transport = createTransport();
    const ends: End[] = [];
    const listener = await transport.listen(LOCAL, (connection) => {
      const [end, handlers] = createEnd(connection);
      ends.push(end);
      return handlers;
    });
    listeners.push(listener);
    const random = createRandom(4);
    const garbage = [
      new TextEncoder().encode('GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\n'),
      ...Array.from({ length: 5 }, () =>
        Uint8Array.from({ length: 100 + random.below(9000) }, () => random.below(256)),
      ),
    ];
    for (const [i, bytes] of garbage.entries()) {
      await sendRaw(listener.address, bytes);
      const end = ends[i] as End;
      await end.until(() => end.closes.length > 0);
      expect(end.closes).toMatchObject([{ code: 'bad-frame', message: /expected a Preduce data frame, got/ }]);
      expect(end.frames).toEqual([]);
    }
    const near = await dial(transport, listener.address);
    await near.connection.send(frameOf(1));
    const far = ends.at(-1) as End;
    await far.until((end) => end.frames.length === 1);
  });
}

/** Runs the suite; each test has a transport of its own. */
/** Both ends receive frames of parts 0 to 9; payloads of odd parts are placed at `1000 * part` of the receiver's memory. */
function describePlacing(createTransport: () => Transport): void {
  it.each(['the dialling end', 'the listening end'])('writes payloads to the place that %s gives', async (which) => {
    const transport = createTransport();
    const memory = new Uint8Array(new SharedArrayBuffer(10_000));
    const seen: { part: number; isPlaced: boolean; sum: number }[] = [];
    let whenAll: () => void = () => undefined;
    const all = new Promise<void>((resolve) => {
      whenAll = resolve;
    });
    const receiver: Handlers = {
      place: ({ part, payloadBytes }) =>
        part % 2 === 0 ? null : memory.subarray(1000 * part, 1000 * part + payloadBytes),
      onFrame({ part, offset, payload }) {
        if (offset === 99) return;
        seen.push({ part, isPlaced: payload.buffer === memory.buffer, sum: payload.reduce((a, b) => a + b, 0) });
        if (seen.length === 10) whenAll();
      },
      onClose: () => undefined,
    };
    const silent: Handlers = { onFrame: () => undefined, onClose: () => undefined };
    const isDialler = which === 'the dialling end';
    let accepted: Connection | null = null;
    const listener = await transport.listen(LOCAL, (connection) => {
      accepted = connection;
      return isDialler ? silent : receiver;
    });
    listeners.push(listener);
    const dialled = await transport.dial(listener.address, () => (isDialler ? receiver : silent), { signal: NEVER });
    // A frame from the dialler, so that the listener has its end.
    await dialled.send(frameOf(99));
    while (accepted === null) await new Promise((resolve) => setImmediate(resolve));
    const sender = isDialler ? (accepted as Connection) : dialled;
    for (let part = 0; part < 10; part += 1) {
      await sender.send({ ...frameOf(0, new Uint8Array(100 * part).fill(part)), part });
    }
    await all;
    expect(seen).toEqual(
      Array.from({ length: 10 }, (_, part) => ({ part, isPlaced: part % 2 === 1, sum: 100 * part * part })),
    );
    expect([...memory.subarray(9000, 9900)]).toEqual(new Array(900).fill(9));
  });
}

export function describeTransport(name: string, harness: TransportHarness): void {
  describe(`transport ${name}`, () => {
    describeDelivery(harness.createTransport);
    describeBackPressure(harness.createTransport);
    describePlacing(harness.createTransport);
    describeEnds(harness.createTransport);
    describeAddresses(harness.createTransport);
    describeBadFrames(harness);
  });
}
