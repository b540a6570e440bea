/**
 * What reads the data port: frames in pieces of any size, the admission of connections, and the collective that a member's
 * frames go to.
 */
import type { GroupId } from '../base/ids.js';
import { groupId } from '../base/ids.js';
import { createGate } from '../collective/admission.js';
import { plainKernel } from '../collective/kernel/plain-kernel.js';
import { createPlanCollective } from '../collective/plan-collective.js';
import type { PlanName } from '../collective/plan/plan.js';
import { PLAN_NAMES } from '../collective/plan/plans.js';
import type { Identity } from '../collective/task.js';
import { createReceiver } from '../transport/frame-receiver.js';
import type { Connection, ConnectionHandlers } from '../transport/transport.js';
import { createFrameDecoder, encodeFrameHeader, type Frame, FRAME_HEADER_BYTES, FRAME_TYPES } from '../wire/frame.js';
import type { Target } from './target.js';

const GROUP = groupId(1, 5);
const VALUES = 24;
const MEMBERS = 3;

function frameOf(fields: Partial<Frame>): Uint8Array {
  const frame: Frame = {
    type: 'ack',
    sender: 1,
    incarnation: 1,
    group: GROUP,
    part: 0,
    offset: 0,
    payload: new Uint8Array(0),
    ...fields,
  };
  const bytes = new Uint8Array(FRAME_HEADER_BYTES + frame.payload.byteLength);
  encodeFrameHeader(frame, new DataView(bytes.buffer));
  bytes.set(frame.payload, FRAME_HEADER_BYTES);
  return bytes;
}

function valuesOf(count: number): Uint8Array {
  return new Uint8Array(Float32Array.from({ length: count }, (_, i) => i / 2).buffer);
}

const FRAMES: readonly Uint8Array[] = [
  ...FRAME_TYPES.map((type) => frameOf({ type, payload: valuesOf(4) })),
  frameOf({ type: 'hello', group: 0 as GroupId, payload: new Uint8Array(32) }),
  frameOf({ type: 'proof', group: 0 as GroupId, payload: new Uint8Array(32) }),
  frameOf({ type: 'challenge', group: 0 as GroupId, payload: new Uint8Array(64) }),
];

/** Several frames, one after another. */
function streamOf(...frames: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(frames));
}

/** Pieces of 1, 7, 49 … bytes: decided by the input, so that a failure comes again. */
function pieces(bytes: Uint8Array, take: (piece: Uint8Array) => void): void {
  const size = [1, 7, 36, 49, bytes.length][bytes.length % 5] as number;
  for (let at = 0; at < bytes.length; at += Math.max(1, size)) take(bytes.subarray(at, at + Math.max(1, size)));
}

const frames: Target = {
  name: 'frames',
  examples: [...FRAMES, streamOf(...FRAMES)],
  read(bytes) {
    const decoder = createFrameDecoder({ onFrame: () => undefined });
    pieces(bytes, (piece) => decoder.push(piece));
  },
};

/** A connection that goes nowhere. */
function createDeadEnd(onDestroy: (reason: Error) => void): Connection {
  return {
    remote: 'a stranger',
    bytesReceived: 0,
    send: () => Promise.resolve(),
    pause: () => undefined,
    resume: () => undefined,
    close: () => undefined,
    destroy: onDestroy,
  };
}

/** Feeds a receiver's handlers as a socket does; what they threw, if anything. */
function feed(bytes: Uint8Array, open: (connection: Connection) => ConnectionHandlers): void {
  let failure: Error | null = null;
  const socket = { destroyed: false, pause: () => undefined, resume: () => undefined };
  const connection = createDeadEnd((reason) => {
    failure ??= reason;
    socket.destroyed = true;
  });
  const handlers = open(connection);
  const receiver = createReceiver();
  receiver.serve({ socket, handlers, destroy: connection.destroy, onBye: () => undefined });
  pieces(bytes, (piece) => receiver.push(piece));
  handlers.onClose(failure);
  if (failure !== null) throw failure;
}

function failureOf(act: () => void): Error | null {
  try {
    act();
    return null;
  } catch (error) {
    return error as Error;
  }
}

const SELF: Identity = { role: 'worker', worker: 0, incarnation: 1, runKey: 'k' };

const admission: Target = {
  name: 'admission',
  examples: [...FRAMES, streamOf(frameOf({ type: 'hello', payload: new Uint8Array(32) }), ...FRAMES)],
  read(bytes) {
    feed(
      bytes,
      createGate({
        identity: () => SELF,
        admit() {
          throw new Error('a stranger was let in');
        },
      }),
    );
  },
};

const ADDRESS = { host: '127.0.0.1', port: 9 };

/** What member 1 sends to member 0 in the first steps of each plan, as far as it is in order. */
const SEGMENTS = [0, 1, 2].map((part) =>
  streamOf(
    frameOf({ type: 'segment-reduce', part, payload: valuesOf(4) }),
    frameOf({ type: 'segment-reduce', part, offset: 4, payload: valuesOf(4) }),
    frameOf({ type: 'segment-gather', part: (part + 1) % 3, payload: valuesOf(8) }),
    frameOf({ type: 'ack' }),
  ),
);

/** Frames of a member of the group; what it may write to is checked by guards around the vectors. */
function collectiveTarget(plan: PlanName): Target {
  return {
    name: `collective-${plan}`,
    examples: [...FRAMES, ...SEGMENTS],
    read(bytes) {
      const memory = new Float32Array(3 * VALUES).fill(7);
      const input = new Float32Array(VALUES).fill(1);
      const collective = createPlanCollective(
        {
          group: GROUP,
          collective: plan,
          members: Array.from({ length: MEMBERS }, (_, worker) => ({ worker, incarnation: 1, address: ADDRESS })),
          rank: 0,
          weights: [0.5, 0.25, 0.25],
          input,
          output: memory.subarray(VALUES, 2 * VALUES),
          signal: new AbortController().signal,
        },
        16,
        plainKernel,
      );
      const from = 1 + (bytes.length % 2);
      const failure = failureOf(() =>
        feed(bytes, () => ({
          place: (header) => collective.place(from, header),
          onFrame: (frame) => collective.onFrame(from, frame),
          onClose: () => undefined,
        })),
      );
      const guards = [memory.subarray(0, VALUES), memory.subarray(2 * VALUES)];
      if (guards.some((guard) => guard.some((value) => value !== 7)) || input.some((value) => value !== 1)) {
        throw new Error('a frame was written beyond its place');
      }
      if (failure !== null) throw failure;
    },
  };
}

export const streamTargets: readonly Target[] = [frames, admission, ...PLAN_NAMES.map(collectiveTarget)];
