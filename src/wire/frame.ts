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
  /** First frame of a dialled connection; payload: the run key. `part` is 1 for a state connection, 0 for collectives. */
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

interface Header {
  readonly type: FrameType;
  readonly sender: number;
  readonly incarnation: number;
  readonly group: GroupId;
  readonly part: number;
  readonly offset: number;
  readonly payloadBytes: number;
}

function badFrame(what: string): PreduceError {
  return new PreduceError(
    'bad-frame',
    `expected a Preduce data frame, got ${what}: is the other end a Preduce worker of this version?`,
  );
}

function decodeHeader(bytes: Uint8Array): Header {
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

export interface FrameDecoder {
  /**
   * Takes bytes as they come, calls back for each whole frame; the payload is valid during the call. Throws `bad-frame`.
   * Once it, or `onFrame`, has thrown, there is no telling where the next frame begins: every later call throws the same.
   */
  push(chunk: Uint8Array, onFrame: (frame: Frame) => void): void;
}

/** A push decoder. Memory is bounded by one frame. The payload starts at a multiple of 4, to be viewed as floats. */
export function createFrameDecoder(): FrameDecoder {
  const headerBytes = new Uint8Array(FRAME_HEADER_BYTES);
  let headerFilled = 0;
  let header: Header | null = null;
  let payload = new Uint8Array(0);
  let payloadFilled = 0;
  let failure: { readonly error: unknown } | null = null;

  function finish(onFrame: (frame: Frame) => void): void {
    if (header === null) return;
    const { payloadBytes, ...fields } = header;
    header = null;
    headerFilled = 0;
    payloadFilled = 0;
    onFrame({ ...fields, payload: payload.subarray(0, payloadBytes) });
  }

  function take(chunk: Uint8Array, onFrame: (frame: Frame) => void): void {
    let position = 0;
    while (position < chunk.byteLength) {
      if (header === null) {
        const taken = Math.min(FRAME_HEADER_BYTES - headerFilled, chunk.byteLength - position);
        headerBytes.set(chunk.subarray(position, position + taken), headerFilled);
        headerFilled += taken;
        position += taken;
        if (headerFilled < FRAME_HEADER_BYTES) return;
        header = decodeHeader(headerBytes);
        if (payload.byteLength < header.payloadBytes) payload = new Uint8Array(header.payloadBytes);
      }
      const taken = Math.min(header.payloadBytes - payloadFilled, chunk.byteLength - position);
      payload.set(chunk.subarray(position, position + taken), payloadFilled);
      payloadFilled += taken;
      position += taken;
      if (payloadFilled === header.payloadBytes) finish(onFrame);
    }
  }

  return {
    push(chunk, onFrame) {
      if (failure !== null) throw failure.error;
      try {
        take(chunk, onFrame);
      } catch (error) {
        failure = { error };
        throw error;
      }
    },
  };
}
