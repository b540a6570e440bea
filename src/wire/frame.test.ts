import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionError } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import { type GroupId, groupId } from '../base/ids.js';
import {
  createFrameDecoder,
  encodeFrameHeader,
  FRAME_HEADER_BYTES,
  FRAME_TYPES,
  type Frame,
  type FrameType,
  NO_PAYLOAD,
  NO_WORKER,
} from './frame.js';
import { LIMITS } from './limits.js';

function frameOf(fields: Partial<Frame> = {}): Frame {
  return {
    type: 'segment-reduce',
    sender: 3,
    incarnation: 2,
    group: groupId(1, 7),
    part: 1,
    offset: 65_536,
    payload: Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]),
    ...fields,
  };
}

function encode(frame: Frame): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES + frame.payload.byteLength);
  encodeFrameHeader(frame, new DataView(bytes.buffer));
  bytes.set(frame.payload, FRAME_HEADER_BYTES);
  return bytes;
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/** What a decoder makes of chunks; payloads copied, as they are valid during the call only. */
function decodeAll(...chunks: readonly Uint8Array[]): Frame[] {
  const decoder = createPushDecoder();
  const frames: Frame[] = [];
  for (const chunk of chunks) {
    decoder.push(chunk, (frame) => frames.push({ ...frame, payload: frame.payload.slice() }));
  }
  return frames;
}

function cutInto(bytes: Uint8Array, size: number): Uint8Array[] {
  const chunks = [];
  for (let at = 0; at < bytes.byteLength; at += size) chunks.push(bytes.subarray(at, at + size));
  return chunks;
}

/** A decoder whose receiver comes with each chunk. */
function createPushDecoder(): { push(chunk: Uint8Array, onFrame: (frame: Frame) => void): void } {
  let receive: (frame: Frame) => void = () => undefined;
  const decoder = createFrameDecoder({ onFrame: (frame) => receive(frame) });
  return {
    push(chunk, onFrame) {
      receive = onFrame;
      decoder.push(chunk);
    },
  };
}

/** The bytes of a valid frame with some set to something else. */
function corrupted(change: (view: DataView) => void, frame = frameOf()): Uint8Array {
  const bytes = encode(frame);
  change(new DataView(bytes.buffer));
  return bytes;
}

describe('the bytes of a frame', () => {
  it('are those of the table in docs/protocol.md', () => {
    const frame = frameOf({
      type: 'segment-gather',
      sender: 0x0000_0abc,
      incarnation: 0x0102_0304,
      group: groupId(5, 0xffff_fffe),
      part: 6,
      offset: 0x8000_0001,
      payload: Uint8Array.from([0xaa, 0xbb, 0xcc, 0xdd]),
    });
    const hex = Buffer.from(encode(frame)).toString('hex');
    expect(hex.match(/.{8}/g)?.join(' ')).toBe(
      // magic; version, type, flags; sender; incarnation; term; sequence; part; offset; payload bytes; payload
      '50525044 01020000 bc0a0000 04030201 05000000 feffffff 06000000 01000080 04000000 aabbccdd',
    );
    expect(String.fromCharCode(...encode(frame).subarray(0, 4))).toBe('PRPD');
  });

  it('number the types as clients in other languages know them', () => {
    expect(FRAME_TYPES).toEqual([
      'hello',
      'segment-reduce',
      'segment-gather',
      'ack',
      'state-request',
      'state-segment',
      'state-end',
      'state-none',
      'bye',
      'challenge',
      'proof',
      'measure',
    ]);
  });

  it.each<[string, Partial<Frame>]>([
    ['a negative k', { part: -1 }],
    ['an offset beyond 32 bits', { offset: 2 ** 32 }],
    ['half a value', { offset: 0.5 }],
    ['a sender that is no number', { sender: Number.NaN }],
    ['an incarnation beyond 32 bits', { incarnation: 2 ** 32 }],
    ['a term beyond the limit', { group: groupId(LIMITS.termsMax, 0) }],
    ['a negative group', { group: -1 as GroupId }],
    ['a payload beyond the limit', { payload: new Uint8Array(LIMITS.framePayloadBytesMax + 1) }],
  ])('do not hold %s', (_, fields) => {
    const view = new DataView(new ArrayBuffer(FRAME_HEADER_BYTES));
    expect(() => encodeFrameHeader(frameOf(fields), view)).toThrow(AssertionError);
  });
});

describe('createFrameDecoder', () => {
  const examples: readonly Frame[] = [
    ...FRAME_TYPES.flatMap((type) => [frameOf({ type }), frameOf({ type, payload: NO_PAYLOAD })]),
    frameOf({ type: 'hello', sender: NO_WORKER, incarnation: 0, group: 0 as GroupId, part: 1, offset: 0 }),
    frameOf({ group: groupId(LIMITS.termsMax - 1, 2 ** 32 - 1), part: 2 ** 32 - 1, offset: 2 ** 32 - 1 }),
  ];

  it.each(examples.map((frame) => [frame.type, frame.payload.byteLength, frame] as const))(
    'reads %s with %i bytes, cut in two anywhere',
    (_type, _bytes, frame) => {
      const bytes = encode(frame);
      for (let cut = 0; cut <= bytes.byteLength; cut += 1) {
        expect(decodeAll(bytes.subarray(0, cut), bytes.subarray(cut)), `cut at ${cut}`).toEqual([frame]);
      }
    },
  );

  it('reads many frames, whatever the size of the chunks', () => {
    const bytes = join(...examples.map(encode));
    for (const size of [1, 2, 3, 35, 36, 37, 71, bytes.byteLength]) {
      expect(decodeAll(...cutInto(bytes, size)), `chunks of ${size}`).toEqual(examples);
    }
  });

  it('gives a frame as soon as its last byte is there, and not before', () => {
    for (const frame of [frameOf(), frameOf({ payload: NO_PAYLOAD })]) {
      const bytes = encode(frame);
      expect(decodeAll(bytes.subarray(0, -1))).toEqual([]);
      expect(decodeAll(bytes)).toEqual([frame]);
      expect(decodeAll(join(bytes, bytes.subarray(0, 20)))).toEqual([frame]);
    }
    expect(decodeAll(new Uint8Array(0))).toEqual([]);
  });

  it('reads the longest payload, and reuses its memory for the next', () => {
    const longest = frameOf({ payload: new Uint8Array(LIMITS.framePayloadBytesMax).fill(9) });
    const short = frameOf({ payload: Uint8Array.from([1, 2, 3, 4]) });
    const buffers = new Set<ArrayBufferLike>();
    const lengths: number[] = [];
    const decoder = createPushDecoder();
    for (const frame of [longest, short, longest]) {
      decoder.push(encode(frame), ({ payload }) => {
        buffers.add(payload.buffer);
        lengths.push(payload.byteLength);
        expect(payload.byteOffset % 4).toBe(0);
        expect(Buffer.compare(payload, frame.payload)).toBe(0);
      });
    }
    expect(lengths).toEqual([LIMITS.framePayloadBytesMax, 4, LIMITS.framePayloadBytesMax]);
    expect(buffers.size).toBe(1);
  });

  const refused: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['HTTP', new TextEncoder().encode('GET / HTTP/1.1\r\nHost: localhost:1234\r\n\r\n'), /foreign bytes/],
    ['zeros', new Uint8Array(FRAME_HEADER_BYTES), /foreign bytes/],
    ['a big-endian magic', corrupted((view) => view.setUint32(0, 0x4450_5250)), /foreign bytes/],
    ['a later frame version', corrupted((view) => view.setUint8(4, 2)), /frame version 2 instead of 1/],
    ['an unknown type', corrupted((view) => view.setUint8(5, FRAME_TYPES.length)), /frame type 12/],
    ['unknown flags', corrupted((view) => view.setUint16(6, 1, true)), /flags 1 /],
    ['a term beyond the limit', corrupted((view) => view.setUint32(16, 2 ** 21, true)), /controller term 2097152/],
    [
      'a payload of one byte too many',
      corrupted((view) => view.setUint32(32, LIMITS.framePayloadBytesMax + 1, true)),
      /a payload of 1048577 bytes \(at most 1048576\)/,
    ],
    ['a payload of 4 GiB', corrupted((view) => view.setUint32(32, 2 ** 32 - 1, true)), /a payload of 4294967295/],
  ];

  it.each(refused)('refuses %s, after good frames and for good', (_, bytes, message) => {
    for (const size of [1, bytes.byteLength]) {
      const decoder = createPushDecoder();
      const seen: FrameType[] = [];
      const onFrame = (frame: Frame): void => void seen.push(frame.type);
      decoder.push(encode(frameOf()), onFrame);
      const pushAll = (): void => cutInto(bytes, size).forEach((chunk) => decoder.push(chunk, onFrame));
      expect(pushAll).toThrow(message);
      expect(() => decoder.push(encode(frameOf()), onFrame)).toThrow(message);
      expect(seen).toEqual(['segment-reduce']);
    }
  });

  it('reads nothing more once its user has thrown', () => {
    const decoder = createPushDecoder();
    const bytes = join(encode(frameOf()), encode(frameOf()));
    const problem = new PreduceError('bad-frame', 'not wanted');
    const seen: Frame[] = [];
    expect(() =>
      decoder.push(bytes, () => {
        throw problem;
      }),
    ).toThrow(problem);
    expect(() => decoder.push(encode(frameOf()), (frame) => seen.push(frame))).toThrow(problem);
    expect(seen).toEqual([]);
  });

  it('takes bytes after a frame for the next header: a payload longer than announced ends the connection', () => {
    const short = corrupted((view) => view.setUint32(32, 4, true));
    const seen: number[] = [];
    const decoder = createPushDecoder();
    const push = (): void => {
      for (let i = 0; i < 8; i += 1) decoder.push(short, ({ payload }) => seen.push(payload.byteLength));
    };
    expect(push).toThrow(/foreign bytes/);
    expect(seen).toEqual([4]);
  });
});

describe('a payload that is placed', () => {
  const frames = [
    frameOf({ payload: Uint8Array.from([1, 2, 3, 4]) }),
    frameOf({ type: 'ack', payload: new Uint8Array(0) }),
    frameOf({ part: 7, payload: Uint8Array.from([5, 6, 7, 8, 9, 10, 11, 12]) }),
  ];

  /** Places payloads of part 7 only. */
  function createPlacing() {
    const memory = new Uint8Array(8);
    const seen: Frame[] = [];
    const headers: number[] = [];
    const decoder = createFrameDecoder({
      place(header) {
        headers.push(header.payloadBytes);
        return header.part === 7 ? memory : null;
      },
      onFrame: (frame) => seen.push({ ...frame, payload: frame.part === 7 ? frame.payload : frame.payload.slice() }),
    });
    return { memory, seen, headers, decoder };
  }

  function check({ memory, seen, headers }: ReturnType<typeof createPlacing>): void {
    expect(headers).toEqual([4, 8]);
    expect(seen.map((frame) => [...frame.payload])).toEqual(frames.map((frame) => [...frame.payload]));
    expect(seen[2]?.payload).toBe(memory);
  }

  it.each([1, 3, 36, 37, 1000])('arrives there when pushed in chunks of %i bytes', (size) => {
    const placing = createPlacing();
    for (const chunk of cutInto(join(...frames.map(encode)), size)) placing.decoder.push(chunk);
    check(placing);
  });

  it.each([1, 3, 36, 1000])('arrives there when read into the space given, %i bytes at a time', (size) => {
    const placing = createPlacing();
    const bytes = join(...frames.map(encode));
    for (let at = 0; at < bytes.byteLength; ) {
      const space = placing.decoder.space();
      const count = Math.min(size, space.byteLength, bytes.byteLength - at);
      expect(count).toBeGreaterThan(0);
      space.set(bytes.subarray(at, at + count));
      at += count;
      placing.decoder.filled(count);
    }
    check(placing);
  });

  it('must have its length', () => {
    const decoder = createFrameDecoder({ place: () => new Uint8Array(5), onFrame: () => undefined });
    expect(() => decoder.push(encode(frames[0] as Frame))).toThrow('assertion failed');
  });
});

describe('any bytes at all', () => {
  const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const anyFrame: fc.Arbitrary<Frame> = fc.record({
    type: fc.constantFrom(...FRAME_TYPES),
    sender: uint32,
    incarnation: uint32,
    group: fc.tuple(fc.integer({ min: 0, max: LIMITS.termsMax - 1 }), uint32).map(([term, n]) => groupId(term, n)),
    part: uint32,
    offset: uint32,
    payload: fc.uint8Array({ maxLength: 300 }),
  });
  const anyFrames = fc.array(anyFrame, { maxLength: 5 });
  const chunkBytes = fc.integer({ min: 1, max: 400 });

  function errorOf(action: () => void): unknown {
    try {
      action();
    } catch (error) {
      return error;
    }
    return null;
  }

  /** Feeds a decoder to the end or to its error; checks what must hold of any input. */
  function feed(bytes: Uint8Array, size: number): { frames: number; error: unknown } {
    const decoder = createPushDecoder();
    let frames = 0;
    let payloadBytes = 0;
    const onFrame = ({ payload }: Frame): void => {
      frames += 1;
      payloadBytes += payload.byteLength;
      expect(payload.buffer.byteLength).toBeLessThanOrEqual(LIMITS.framePayloadBytesMax);
    };
    const error = errorOf(() => cutInto(bytes, size).forEach((chunk) => decoder.push(chunk, onFrame)));
    const known = error === null || (error instanceof PreduceError && error.code === 'bad-frame');
    expect(known, `a bad-frame error or none, got ${String(error)}`).toBe(true);
    // Nothing comes from nowhere.
    expect(frames * FRAME_HEADER_BYTES + payloadBytes).toBeLessThanOrEqual(bytes.byteLength);
    return { frames, error };
  }

  it('as frames: give back what was encoded', () => {
    fc.assert(
      fc.property(anyFrames, chunkBytes, (frames, size) => {
        expect(decodeAll(...cutInto(join(...frames.map(encode)), size))).toEqual(frames);
      }),
    );
  });

  it('drawn at random: one error, at the first header', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: FRAME_HEADER_BYTES, maxLength: 2000 }), chunkBytes, (bytes, size) => {
        // Not the first byte of the magic.
        fc.pre(bytes[0] !== 0x50);
        expect(feed(bytes, size)).toMatchObject({ frames: 0, error: { code: 'bad-frame' } });
      }),
    );
  });

  it('of valid frames with bytes changed: whole frames, or one error, the same for any chunks', () => {
    const change = fc.record({ at: fc.nat(), value: fc.integer({ min: 0, max: 255 }) });
    let errors = 0;
    fc.assert(
      fc.property(
        fc.array(anyFrame, { minLength: 1, maxLength: 4 }),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        chunkBytes,
        (frames, changes, size) => {
          const bytes = join(...frames.map(encode));
          for (const { at, value } of changes) bytes[at % bytes.byteLength] = value;
          const cut = feed(bytes, size);
          const whole = feed(bytes, bytes.byteLength);
          expect(cut.frames).toBe(whole.frames);
          expect(String(cut.error)).toBe(String(whole.error));
          if (whole.error !== null) errors += 1;
        },
      ),
      { numRuns: 500 },
    );
    expect(errors).toBeGreaterThan(0);
  });
});
