/**
 * A replica handed from a donor to a joiner (or to the evaluator): a connection of its own per transfer, so that a big
 * replica does not delay the segments of a collective.
 */
import { PreduceError } from '../base/errors.js';
import type { GroupId } from '../base/ids.js';
import type { Connection, ConnectionHandlers, Transport } from '../transport/transport.js';
import { type Frame, NO_PAYLOAD } from '../wire/frame.js';
import type { Peer } from '../wire/messages.js';
import { dialAdmitted, PURPOSES, senderOf } from './admission.js';
import { createProgressWatch, TICKS_PER_TIMEOUT } from './progress-watch.js';
import type { Identity, ReplicaState } from './task.js';

const NO_GROUP = 0 as GroupId;
const BYTES_PER_VALUE = Float32Array.BYTES_PER_ELEMENT;

type Sender = { readonly sender: number; readonly incarnation: number };

function stateFrame(type: Frame['type'], from: Sender, fields: Partial<Frame> = {}): Frame {
  return { type, ...from, group: NO_GROUP, part: 0, offset: 0, payload: NO_PAYLOAD, ...fields };
}

/** Sends a private copy of the replica in segments, then closes; whoever asks for the state gets it as of now. */
export async function sendState(
  connection: Connection,
  state: ReplicaState | null,
  from: Sender,
  segmentBytes: number,
): Promise<void> {
  if (state === null) {
    await connection.send(stateFrame('state-none', from));
  } else {
    const { k } = state;
    const copy = new Uint8Array(4 * state.values.length);
    copy.set(new Uint8Array(state.values.buffer, state.values.byteOffset, state.values.byteLength));
    const step = Math.max(BYTES_PER_VALUE, segmentBytes - (segmentBytes % BYTES_PER_VALUE));
    for (let start = 0; start < copy.byteLength; start += step) {
      const payload = copy.subarray(start, Math.min(copy.byteLength, start + step));
      await connection.send(stateFrame('state-segment', from, { part: k, offset: start / BYTES_PER_VALUE, payload }));
    }
    await connection.send(stateFrame('state-end', from, { part: k, offset: state.values.length }));
  }
  connection.close();
}

/** Ends a transfer of which nothing arrives for twice the time; returns how to stop that. */
function watchDonor(connection: Connection, { worker }: Peer, stallMs: number): () => void {
  const watch = createProgressWatch(TICKS_PER_TIMEOUT);
  const ticking = setInterval(() => {
    const stalled = watch.tick([{ rank: worker, bytes: connection.bytesReceived, lateness: 1 }]);
    if (stalled === null) return;
    connection.destroy(
      new PreduceError('timeout', `worker ${worker} sent nothing of its replica for ${2 * stallMs} ms`),
    );
  }, stallMs / TICKS_PER_TIMEOUT);
  return () => clearInterval(ticking);
}

export interface FetchOptions {
  readonly identity: Identity;
  readonly signal: AbortSignal;
  /** As of a communicator. */
  readonly stallMs?: number;
}

/**
 * Fetches the replica of `peer` into `into`; the donor's k. Throws `connection-lost`, `aborted`, `refused`, `bad-frame`,
 * `timeout`.
 */
export async function fetchState(
  transport: Transport,
  peer: Peer,
  into: Float32Array,
  options: FetchOptions,
): Promise<{ readonly k: number }> {
  const { identity, signal, stallMs } = options;
  const target = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
  let filled = 0;
  let settle: { resolve(k: number): void; reject(error: Error): void } | null = null;
  const received = new Promise<number>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // The dial may fail first.
  received.catch(() => undefined);

  function onFrame(frame: Frame): void {
    if (frame.type === 'state-none') {
      settle?.reject(new PreduceError('refused', `worker ${peer.worker} holds no replica yet`, { retryable: true }));
    } else if (frame.type === 'state-segment') {
      const start = frame.offset * BYTES_PER_VALUE;
      if (start !== filled || start + frame.payload.byteLength > target.byteLength) {
        throw new PreduceError(
          'bad-frame',
          `expected value ${filled / BYTES_PER_VALUE} of ${into.length} of the replica of worker ${peer.worker}, ` +
            `got ${frame.payload.byteLength / BYTES_PER_VALUE} values at ${frame.offset}`,
        );
      }
      target.set(frame.payload, start);
      filled += frame.payload.byteLength;
    } else if (frame.type === 'state-end') {
      if (filled === target.byteLength) settle?.resolve(frame.part);
      else
        settle?.reject(
          new PreduceError('bad-frame', `expected ${into.length} values, got ${filled / BYTES_PER_VALUE}`),
        );
    } else {
      throw new PreduceError('bad-frame', `expected a replica, got a frame of type ${frame.type}`);
    }
  }

  const handlers: ConnectionHandlers = {
    onFrame,
    onClose(reason) {
      settle?.reject(
        reason ?? new PreduceError('connection-lost', `worker ${peer.worker} closed before its replica was complete`),
      );
    },
  };
  const part = PURPOSES.transfer;
  const connection = await dialAdmitted(transport, { peer, identity, part, signal, open: () => handlers });
  const abort = (): void => connection.destroy(new PreduceError('aborted', 'the transfer was given up'));
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const unwatch = stallMs === undefined ? undefined : watchDonor(connection, peer, stallMs);
  try {
    await connection.send(stateFrame('state-request', senderOf(identity)));
    return { k: await received };
  } catch (error) {
    // A send that was under way fails with the connection.
    if (signal.aborted) throw new PreduceError('aborted', 'the transfer was given up', { cause: error });
    throw error;
  } finally {
    unwatch?.();
    signal.removeEventListener('abort', abort);
    connection.close();
  }
}
