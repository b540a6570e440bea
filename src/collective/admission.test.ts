/**
 * Who is let in at a data port, and what strangers can do there: to a gate on a transport in memory, of whose connections they
 * write the frames themselves.
 */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { GroupId } from '../base/ids.js';
import { createMemoryTransport } from '../transport/memory.js';
import type { Connection, Transport } from '../transport/transport.js';
import type { Frame } from '../wire/frame.js';
import { LIMITS } from '../wire/limits.js';
import type { Address } from '../wire/messages.js';
import { type Admitted, createGate, dialAdmitted, PURPOSES } from './admission.js';
import { createNonce, NONCE_BYTES, PROOF_BYTES, proofOf } from './proof.js';
import type { Identity } from './task.js';

const KEY = 'the key of the run';
const NEVER = new AbortController().signal;

function workerIdentity(worker: number, runKey = KEY): Identity {
  return { role: 'worker', worker, incarnation: 2, runKey };
}

interface Port {
  readonly transport: Transport;
  readonly address: Address;
  readonly admitted: Admitted[];
  /** Frames that came behind a proof. */
  readonly frames: Frame[];
}

/** A data port of worker 1 in its life 2. */
async function openPort(identity: Identity | null = workerIdentity(1)): Promise<Port> {
  const transport = createMemoryTransport();
  const admitted: Admitted[] = [];
  const frames: Frame[] = [];
  const gate = createGate({
    identity: () => identity,
    admit(_connection, who) {
      admitted.push(who);
      return { onFrame: (frame) => frames.push(frame), onClose: () => undefined };
    },
  });
  const listener = await transport.listen({ host: 'here', port: 0 }, gate);
  onTestFinished(() => listener.close());
  return { transport, address: listener.address, admitted, frames };
}

interface Stranger {
  readonly connection: Connection;
  say(type: Frame['type'], payload: Uint8Array, fields?: Partial<Frame>): void;
  /** The next frame of the port. */
  next(): Promise<Frame>;
  readonly closed: Promise<unknown>;
}

/** A connection that says what it likes. */
async function connectStranger({ transport, address }: Pick<Port, 'transport' | 'address'>): Promise<Stranger> {
  const heard: Frame[] = [];
  let wake: () => void = () => undefined;
  let onClosed: (reason: unknown) => void = () => undefined;
  const closed = new Promise<unknown>((resolve) => {
    onClosed = resolve;
  });
  const connection = await transport.dial(
    address,
    () => ({
      onFrame(frame) {
        heard.push({ ...frame, payload: frame.payload.slice() });
        wake();
      },
      onClose: (reason) => onClosed(reason),
    }),
    { signal: NEVER },
  );
  return {
    connection,
    closed,
    say(type, payload, fields = {}) {
      const frame: Frame = { type, sender: 7, incarnation: 3, group: 0 as GroupId, part: 0, offset: 0, payload };
      connection.send({ ...frame, ...fields }).catch(() => undefined);
    },
    async next() {
      while (heard.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return heard.shift() as Frame;
    },
  };
}

/** Dials as worker 0 and says `ack`. */
function dialAs(port: Port, changes: Partial<Parameters<typeof dialAdmitted>[1]> = {}): Promise<Connection> {
  return dialAdmitted(port.transport, {
    peer: { worker: 1, incarnation: 2, address: port.address },
    identity: workerIdentity(0),
    part: PURPOSES.collectives,
    signal: NEVER,
    open: () => ({ onFrame: () => undefined, onClose: () => undefined }),
    ...changes,
  });
}

describe('admission', () => {
  it('lets in who knows the key, and hands on what comes behind the proof', async () => {
    const port = await openPort();
    const connection = await dialAs(port);
    const ack: Frame = {
      type: 'ack',
      sender: 0,
      incarnation: 2,
      group: 9 as GroupId,
      part: 0,
      offset: 0,
      payload: new Uint8Array(0),
    };
    await connection.send(ack);
    await vi.waitUntil(() => port.frames.length > 0);
    expect(port.admitted).toEqual([{ worker: 0, incarnation: 2, part: PURPOSES.collectives }]);
    expect(port.frames).toEqual([ack]);
  });

  it('lets in an evaluator, which is no worker', async () => {
    const port = await openPort();
    await dialAs(port, { identity: { role: 'evaluator', runKey: KEY }, part: PURPOSES.transfer });
    await vi.waitUntil(() => port.admitted.length > 0);
    expect(port.admitted).toEqual([{ worker: 0xffff_ffff, incarnation: 0, part: PURPOSES.transfer }]);
  });

  it('finds out that the other end does not know the key, before it proves its own', async () => {
    const port = await openPort(workerIdentity(1, 'another'));
    await expect(dialAs(port)).rejects.toMatchObject({ code: 'bad-frame' });
    expect(port.admitted).toEqual([]);
  });

  it.each([
    ['worker', { worker: 2, incarnation: 2 }],
    ['life', { worker: 1, incarnation: 1 }],
  ])('finds out that another %s answers there', async (_, who) => {
    const port = await openPort();
    await expect(dialAs(port, { peer: { ...who, address: port.address } })).rejects.toMatchObject({
      code: 'bad-frame',
      message: expect.stringContaining('got worker 1 in its life 2') as string,
    });
    expect(port.admitted).toEqual([]);
  });

  it('lets nobody in before it is known who listens', async () => {
    const port = await openPort(null);
    await expect(dialAs(port)).rejects.toMatchObject({ code: 'connection-lost' });
  });

  it('gives up when the signal fires while the other end says nothing', async () => {
    const transport = createMemoryTransport();
    const abort = new AbortController();
    const { address } = await transport.listen({ host: 'deaf', port: 0 }, () => ({
      onFrame: () => abort.abort(),
      onClose: () => undefined,
    }));
    const dialling = dialAs({ transport, address, admitted: [], frames: [] }, { signal: abort.signal });
    await expect(dialling).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('a stranger at a data port', () => {
  const proofs: [string, (challenge: Frame, nonce: Uint8Array) => Uint8Array][] = [
    ['noise', () => createNonce()],
    ["the port's own proof", ({ payload }) => payload.slice(NONCE_BYTES)],
    [
      'the proof of another key',
      ({ payload, sender, incarnation }, nonce) => {
        const listener = { sender, incarnation, nonce: payload.slice(0, NONCE_BYTES) };
        return proofOf('guessed', 'dialler', {
          dialler: { sender: 7, incarnation: 3, nonce },
          part: 0,
          listener,
        });
      },
    ],
    [
      'a proof that somebody else made for his own hello',
      ({ payload, sender, incarnation }, nonce) => {
        const listener = { sender, incarnation, nonce: payload.slice(0, NONCE_BYTES) };
        return proofOf(KEY, 'dialler', { dialler: { sender: 8, incarnation: 3, nonce }, part: 0, listener });
      },
    ],
    [
      'a proof of a former connection',
      ({ sender, incarnation }, nonce) => {
        const listener = { sender, incarnation, nonce: createNonce() };
        return proofOf(KEY, 'dialler', { dialler: { sender: 7, incarnation: 3, nonce }, part: 0, listener });
      },
    ],
  ];

  it.each(proofs)('is not let in with %s', async (_, forge) => {
    const port = await openPort();
    const stranger = await connectStranger(port);
    const nonce = createNonce();
    stranger.say('hello', nonce);
    stranger.say('proof', forge(await stranger.next(), nonce));
    expect(await stranger.closed).toMatchObject({ code: 'connection-lost' });
    expect(port.admitted).toEqual([]);
  });

  it('would be let in with the right one', async () => {
    const port = await openPort();
    const stranger = await connectStranger(port);
    const nonce = createNonce();
    stranger.say('hello', nonce);
    const { payload, sender, incarnation } = await stranger.next();
    const listener = { sender, incarnation, nonce: payload.slice(0, NONCE_BYTES) };
    const dialler = { sender: 7, incarnation: 3, nonce };
    stranger.say('proof', proofOf(KEY, 'dialler', { dialler, part: 0, listener }));
    await vi.waitUntil(() => port.admitted.length > 0);
  });

  it.each<[string, Frame['type'], number]>([
    ['a segment', 'segment-reduce', 4],
    ['a request for the state', 'state-request', 0],
    ['a proof that nobody asked for', 'proof', PROOF_BYTES],
    ['a hello of another length', 'hello', NONCE_BYTES - 1],
  ])('is cut off when it begins with %s', async (_, type, bytes) => {
    const port = await openPort();
    const stranger = await connectStranger(port);
    stranger.say(type, new Uint8Array(bytes));
    expect(await stranger.closed).toMatchObject({ code: 'connection-lost' });
    expect(port.admitted).toEqual([]);
  });

  it('is cut off at a header that announces more than it may say, before memory is made for it', async () => {
    const { connection } = await connectStranger(await openPort());
    const gate = createGate({ identity: () => workerIdentity(1), admit: () => expect.unreachable('nobody proved') });
    const handlers = gate(connection);
    const header = { type: 'hello' as const, sender: 0, incarnation: 0, group: 0 as GroupId, part: 0, offset: 0 };
    expect(handlers.place?.({ ...header, payloadBytes: NONCE_BYTES })).toBeNull();
    expect(() => handlers.place?.({ ...header, payloadBytes: LIMITS.framePayloadBytesMax })).toThrow(
      expect.objectContaining({ code: 'bad-frame' }),
    );
    handlers.onClose(null);
  });

  it('is cut off when it says nothing for too long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const port = await openPort();
    const strangers = [await connectStranger(port), await connectStranger(port)];
    strangers[1]?.say('hello', createNonce());
    await strangers[1]?.next();
    vi.advanceTimersByTime(LIMITS.admissionMs);
    for (const { closed } of strangers) expect(await closed).toMatchObject({ code: 'connection-lost' });
  });

  it('loses the oldest of its connections when it opens too many, and others are let in', async () => {
    const port = await openPort();
    const first = await connectStranger(port);
    const second = await connectStranger(port);
    let isSecondOpen = true;
    void second.closed.then(() => {
      isSecondOpen = false;
    });
    for (let i = 2; i <= LIMITS.unprovenDataConnectionsMax; i += 1) await connectStranger(port);
    expect(await first.closed).toMatchObject({ code: 'connection-lost' });
    expect(isSecondOpen).toBe(true);
    await dialAs(port);
    expect(await second.closed).toMatchObject({ code: 'connection-lost' });
    await vi.waitUntil(() => port.admitted.length > 0);
  });
});
