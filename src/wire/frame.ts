/**
 * Data frames between workers: a fixed little-endian header and a payload, streamed in segments, so that no model is too
 * big for a frame. docs/protocol.md has the table.
 */
import { assert } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import { type GroupId, groupId, splitGroupId } from '../base/ids.js';
import { LIMITS } from './limits.js';

/** What a frame is; the number on the wire is the position in this list. */
export const FRAME_TYPES = [
  /** First frame of a dialled connection; payload: a nonce. `part` is 1 for a state connection, 0 for collectives. */
  'hello',
  /** Payload: values of the sender's vector, [offset …) of the receiver's part. */
  'segment-reduce',
  /** Payload: values of part `part`, reduced, [offset …). */
  'segment-gather',
  /** The sender has received the whole of the receiver's reduced part. */
  'ack',
  /** Asks a donor for its replica. */
  'state-request',
  /** Payload: values of the donor's replica, [offset …); `part` is the donor's k. */
  'state-segment',
  /** The replica is complete (its length is `offset`, `part` the donor's k). */
  'state-end',
  /** The donor holds no replica. */
  'state-none',
  /** The sender closes the connection: an end without it is a loss. */
  'bye',
  /** Answer to `hello`; payload: a nonce, and the proof that the listening end knows the run key. */
  'challenge',
  /** Answer to `challenge`; payload: the dialling end's proof. */
  'proof',
  /** Robust clipping; payload: the measure of the sender's part, float64 (clip.ts). */
  'measure',
] as const;

export type FrameType = (typeof FRAME_TYPES)[number];

export interface Frame {
  readonly type: FrameType;
  /** Worker number of the sender; `NO_WORKER` where it is none (the evaluator). */
  readonly sender: number;
  readonly incarnation: number;
  readonly group: GroupId;
  readonly part: number;
  /** Position of the payload's first value, in values. */
  readonly offset: number;
  readonly payload: Uint8Array;
}

export const NO_WORKER = 0xffff_ffff;
export const NO_PAYLOAD = new Uint8Array(0);
export const FRAME_HEADER_BYTES = 36;

const MAGIC = 0x4450_5250; // "PRPD"
const FRAME_VERSION = 1;

function isUint32(value: number): boolean {
  return value >>> 0 === value;
}

/** Writes the header of a frame into `into` (at least FRAME_HEADER_BYTES long). Asserts what the format can hold. */
export function encodeFrameHeader(frame: Frame, into: DataView): void {
  const { sender, incarnation, group, part, offset, payload } = frame;
  const { term, sequence } = splitGroupId(group);
  // setUint32 would wrap silently.
  assert([sender, incarnation, part, offset].every(isUint32), `a field of a ${frame.type} frame is out of 32 bits`);
  assert(term >= 0 && term < LIMITS.termsMax && isUint32(sequence), `group ${group} is no group id`);
  assert(payload.byteLength <= LIMITS.framePayloadBytesMax, `a payload of ${payload.byteLength} bytes is too long`);
  into.setUint32(0, MAGIC, true);
  into.setUint8(4, FRAME_VERSION);
  into.setUint8(5, FRAME_TYPES.indexOf(frame.type));
  into.setUint16(6, 0, true);
  into.setUint32(8, sender, true);
  into.setUint32(12, incarnation, true);
  into.setUint32(16, term, true);
  into.setUint32(20, sequence, true);
  into.setUint32(24, part, true);
  into.setUint32(28, offset, true);
  into.setUint32(32, payload.byteLength, true);
}

/** A frame whose payload has not arrived. */
export interface FrameHeader extends Omit<Frame, 'payload'> {
  readonly payloadBytes: number;
}

function badFrame(what: string): PreduceError {
  return new PreduceError(
    'bad-frame',
    `expected a Preduce data frame, got ${what}: is the other end a Preduce worker of this version?`,
  );
}

function decodeHeader(bytes: Uint8Array): FrameHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, FRAME_HEADER_BYTES);
  if (view.getUint32(0, true) !== MAGIC) throw badFrame('foreign bytes');
  if (view.getUint8(4) !== FRAME_VERSION)
    throw badFrame(`frame version ${view.getUint8(4)} instead of ${FRAME_VERSION}`);
  const type = FRAME_TYPES[view.getUint8(5)];
  if (type === undefined) throw badFrame(`frame type ${view.getUint8(5)}`);
  const flags = view.getUint16(6, true);
  if (flags !== 0) throw badFrame(`flags ${flags} (none are known)`);
  // A greater term would make different groups look the same: ids are doubles.
  const term = view.getUint32(16, true);
  if (term >= LIMITS.termsMax) throw badFrame(`controller term ${term} (below ${LIMITS.termsMax})`);
  const payloadBytes = view.getUint32(32, true);
  if (payloadBytes > LIMITS.framePayloadBytesMax) {
    throw badFrame(`a payload of ${payloadBytes} bytes (at most ${LIMITS.framePayloadBytesMax})`);
  }
  return {
    type,
    sender: view.getUint32(8, true),
    incarnation: view.getUint32(12, true),
    group: groupId(term, view.getUint32(20, true)),
    part: view.getUint32(24, true),
    offset: view.getUint32(28, true),
    payloadBytes,
  };
}

/** Whom a decoder works for. */
export interface FrameReceiver {
  /**
   * Where the payload of the frame that begins shall be written: `payloadBytes` long, the receiver's own; null: memory of the
   * decoder's. Saves a copy. Throws `bad-frame`.
   */
  place?(header: FrameHeader): Uint8Array | null;
  /** A whole frame. Its payload is the memory that `place` gave, else valid during the call only. */
  onFrame(frame: Frame): void;
}

/**
 * A push decoder, or a pull decoder for whoever can read straight into the memory that `space` gives. Once it, or its
 * receiver, has thrown, there is no telling where the next frame begins: every later call throws the same.
 */
export interface FrameDecoder {
  /** Takes bytes as they come, hands on each frame that is whole. Throws `bad-frame`. */
  push(chunk: Uint8Array): void;
  /** Memory for the bytes that come next; never empty, and never more than one frame's. */
  space(): Uint8Array;
  /** The first `count` bytes of `space()` have come. Throws `bad-frame`. */
  filled(count: number): void;
}

/** Memory is bounded by one frame. A payload in memory of the decoder's starts at a multiple of 4, to be viewed as floats. */
export function createFrameDecoder(receiver: FrameReceiver): FrameDecoder {
  const headerBytes = new Uint8Array(FRAME_HEADER_BYTES);
  let own = new Uint8Array(0);
  let header: FrameHeader | null = null;
  /** Of the header, then of the payload. */
  let target: Uint8Array = headerBytes;
  let count = 0;
  let failure: { readonly error: unknown } | null = null;

  function begin(of: FrameHeader): void {
    header = of;
    count = 0;
    const { payloadBytes } = of;
    const placed = payloadBytes === 0 ? null : (receiver.place?.(of) ?? null);
    assert(placed === null || placed.byteLength === payloadBytes, 'a payload has its own length');
    if (placed === null && own.byteLength < payloadBytes) own = new Uint8Array(payloadBytes);
    target = placed ?? own.subarray(0, payloadBytes);
  }

  function finish(): void {
    if (header === null) return;
    const { payloadBytes: _, ...fields } = header;
    const payload = target;
    header = null;
    target = headerBytes;
    count = 0;
    receiver.onFrame({ ...fields, payload });
  }

  function take(bytes: number): void {
    count += bytes;
    if (count < target.byteLength) return;
    if (header === null) begin(decodeHeader(headerBytes));
    if (header !== null && count === target.byteLength) finish();
  }

  function guard(work: () => void): void {
    if (failure !== null) throw failure.error;
    try {
      work();
    } catch (error) {
      failure = { error };
      throw error;
    }
  }

  return {
    push(chunk) {
      guard(() => {
        for (let position = 0; position < chunk.byteLength; ) {
          const taken = Math.min(target.byteLength - count, chunk.byteLength - position);
          target.set(chunk.subarray(position, position + taken), count);
          position += taken;
          take(taken);
        }
      });
    },
    space: () => target.subarray(count),
    filled: (bytes) => guard(() => take(bytes)),
  };
}
