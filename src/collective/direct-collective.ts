/**
 * One collective at one member: executes the direct plan, segment by segment, and follows what is still owed. Rounds start
 * by themselves as receives complete; no member waits for all others to finish a round.
 */
import { assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import type { Frame, FrameHeader } from '../wire/frame.js';
import type { Link } from './links.js';
import { emptyFrame } from './links.js';
import { planDirect } from './plan/direct.js';
import type { Part, Phase, Plan, Reduce, Transfer } from './plan/plan.js';
import type { ReduceKernel } from './kernel/reduce-kernel.js';
import { ALIGNMENT } from './kernel/vector-memory.js';
import type { CollectiveResult, CollectiveTask } from './task.js';

export interface DirectCollective {
  /** Runs to the end; rejects when `fail` is called or a send fails. */
  run(links: readonly Link[]): Promise<CollectiveResult>;
  /** Where the payload of a frame that the member at `rank` has begun to send belongs; null: nowhere. Throws `bad-frame`. */
  place(rank: number, header: FrameHeader): Uint8Array | null;
  /** A frame of this group from the member at `rank`. Throws `bad-frame`. */
  onFrame(rank: number, frame: Frame): void;
  fail(error: Error): void;
  /** Whether a segment is on its way: from the vectors to the member at `rank`, or from it to its place. */
  isMoving(rank: number): boolean;
}

/** A receive of the plan on its way to completion; segments come in order. */
interface Incoming {
  readonly step: Transfer;
  readonly round: number;
  readonly target: Float32Array;
  /** Values received. */
  filled: number;
  /** Values received or on their way to their place. */
  placed: number;
}

const SEGMENT_OF = { reduce: 'segment-reduce', gather: 'segment-gather' } as const satisfies Record<Phase, string>;
const BYTES_PER_VALUE = Float32Array.BYTES_PER_ELEMENT;

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** The error of a collective whose member `worker` is gone. */
export function lostMember(worker: number, cause: unknown): PreduceError {
  return new PreduceError('connection-lost', `lost worker ${worker} in the middle of a collective`, {
    details: { worker },
    cause,
  });
}

function badSegment(header: FrameHeader, rank: number, why: string): PreduceError {
  return new PreduceError(
    'bad-frame',
    `expected the next ${header.type} of member ${rank}, got ${header.payloadBytes} bytes at value ${header.offset}: ${why}`,
  );
}

function headerOf({ payload, ...fields }: Frame): FrameHeader {
  return { ...fields, payloadBytes: payload.byteLength };
}

/** Values of scratch memory that a collective of `count` members and `length` values needs at most. */
export function scratchLength(length: number, count: number): number {
  return length + ALIGNMENT * count;
}

/** Where each receive of the plan goes: slices to memory of their own, finished parts straight into the output. */
function createIncoming(plan: Plan, output: Float32Array, scratch: Float32Array): readonly Incoming[] {
  let used = 0;
  function takeScratch(length: number): Float32Array {
    const slice = scratch.subarray(used, used + length);
    used += Math.ceil(length / ALIGNMENT) * ALIGNMENT;
    return slice;
  }
  return plan.rounds.flatMap((steps, round) =>
    steps.flatMap((step) => {
      if (step.kind !== 'receive') return [];
      const { start, end } = partAt(plan, step.part);
      const target = step.phase === 'gather' ? output.subarray(start, end) : takeScratch(end - start);
      return [{ step, round, target, filled: 0, placed: 0 }];
    }),
  );
}

function partAt(plan: Plan, index: number): Part {
  return assertPresent(plan.parts[index], `part ${index}`);
}

function isComplete({ filled, target }: Incoming): boolean {
  return filled === target.length;
}

/** Where the payload belongs. Throws `bad-frame` for one that does not come next. */
function placeOf(header: FrameHeader, from: number, { target }: Incoming, next: number): Uint8Array {
  if (header.payloadBytes % BYTES_PER_VALUE !== 0) throw badSegment(header, from, 'not whole values');
  const length = header.payloadBytes / BYTES_PER_VALUE;
  if (header.offset !== next || next + length > target.length) {
    throw badSegment(header, from, `value ${next} of ${target.length} comes next`);
  }
  return bytesOf(target.subarray(next, next + length));
}

function isSameMemory(a: Uint8Array, b: Uint8Array): boolean {
  return a.buffer === b.buffer && a.byteOffset === b.byteOffset;
}

/** Prepares the collective; frames may be fed before `run`. */
export function createDirectCollective(
  task: CollectiveTask,
  segmentBytes: number,
  kernel: ReduceKernel,
): DirectCollective {
  const { rank, weights, input, output } = task;
  const count = task.members.length;
  const plan = planDirect(rank, count, input.length);
  const scratch = task.scratch ?? new Float32Array(scratchLength(input.length, count));
  const incoming = createIncoming(plan, output, scratch);
  const segmentLength = Math.max(1, Math.floor(segmentBytes / BYTES_PER_VALUE));
  const acknowledgedBy = new Set<number>();
  let peers: readonly Link[] = [];
  let round = -1;
  let bytesSent = 0;
  let bytesReceived = 0;
  /** Sends on their way to each member. */
  const sending = new Array<number>(count).fill(0);
  let over = false;
  let failure: Error | null = null;
  let settle: { resolve(result: CollectiveResult): void; reject(error: Error): void } | null = null;

  function fail(error: Error): void {
    if (over) return;
    over = true;
    failure = error;
    settle?.reject(error);
  }

  function linkTo(j: number): Link {
    return assertPresent(peers[j < rank ? j : j - 1], `the link to member ${j}`);
  }

  /** Follows what is being sent to member `j`. */
  function track(j: number, work: Promise<void>): void {
    const change = (by: number): void => {
      sending[j] = (sending[j] ?? 0) + by;
    };
    change(1);
    work.then(
      () => {
        change(-1);
        advance();
      },
      (error: unknown) => fail(lostMember(linkTo(j).worker, error)),
    );
  }

  async function sendPart({ phase, peer, part }: Transfer): Promise<void> {
    const { start, end } = partAt(plan, part);
    const values = (phase === 'reduce' ? input : output).subarray(start, end);
    for (let offset = 0; offset < values.length && !over; offset += segmentLength) {
      const payload = bytesOf(values.subarray(offset, offset + segmentLength));
      bytesSent += payload.byteLength;
      await linkTo(peer).send({ type: SEGMENT_OF[phase], group: task.group, part, offset, payload });
    }
  }

  function reducePart({ part }: Reduce): void {
    const { start, end } = partAt(plan, part);
    const slices = task.members.map((_, j) =>
      j === rank
        ? input.subarray(start, end)
        : assertPresent(find('reduce', j, part), `the slice of member ${j}`).target,
    );
    kernel.weightedSumInto(output.subarray(start, end), slices, weights);
  }

  function find(phase: Phase, peer: number, part: number): Incoming | undefined {
    return incoming.find(({ step }) => step.phase === phase && step.peer === peer && step.part === part);
  }

  function isReceived(index: number): boolean {
    return incoming.every((each) => each.round !== index || isComplete(each));
  }

  /** Takes whatever steps have become possible. */
  function advance(): void {
    if (over || settle === null) return;
    while (round + 1 < plan.rounds.length && isReceived(round)) {
      round += 1;
      for (const step of plan.rounds[round] ?? []) {
        if (step.kind === 'reduce') reducePart(step);
        else if (step.kind === 'send') track(step.peer, sendPart(step));
      }
    }
    if (sending.every((each) => each === 0) && incoming.every(isComplete) && acknowledgedBy.size === peers.length) {
      over = true;
      settle.resolve({ bytesSent, bytesReceived });
    }
  }

  function acknowledge(j: number): void {
    // Frames may come before this member has its links: `run` catches up.
    if (settle !== null) track(j, linkTo(j).send(emptyFrame('ack', task.group)));
  }

  /** The receive that a segment is of; null for other frames. Throws `bad-frame`. */
  function receiveOf(from: number, header: FrameHeader): Incoming | null {
    const phase = header.type === SEGMENT_OF.reduce ? 'reduce' : header.type === SEGMENT_OF.gather ? 'gather' : null;
    if (phase === null) return null;
    const receive = find(phase, from, header.part);
    if (receive === undefined) throw badSegment(header, from, `part ${header.part} is not its to send`);
    return receive;
  }

  function onSegment(from: number, frame: Frame, receive: Incoming): void {
    const place = placeOf(headerOf(frame), from, receive, receive.filled);
    // In its place already, unless it came before this group was known here.
    if (!isSameMemory(place, frame.payload)) place.set(frame.payload);
    const length = place.byteLength / BYTES_PER_VALUE;
    if (length === 0) return;
    receive.filled += length;
    receive.placed = Math.max(receive.placed, receive.filled);
    bytesReceived += place.byteLength;
    if (receive.step.phase === 'gather' && isComplete(receive)) acknowledge(from);
  }

  return {
    fail,
    isMoving: (j) =>
      (sending[j] ?? 0) > 0 || incoming.some((each) => each.step.peer === j && each.placed > each.filled),
    place(from, header) {
      const receive = over ? null : receiveOf(from, header);
      if (receive === null) return null;
      const place = placeOf(header, from, receive, receive.placed);
      receive.placed += place.byteLength / BYTES_PER_VALUE;
      return place;
    },
    onFrame(from, frame) {
      if (over) return;
      const receive = receiveOf(from, headerOf(frame));
      if (receive !== null) onSegment(from, frame, receive);
      else if (frame.type === 'ack') acknowledgedBy.add(from);
      else throw new PreduceError('bad-frame', `expected a segment or an ack in a collective, got ${frame.type}`);
      advance();
    },
    run(links) {
      peers = links;
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
        // A member may have been lost while the links were made.
        if (failure !== null) return reject(failure);
        // Empty parts are complete from the beginning; others may have come early.
        for (const each of incoming) if (each.step.phase === 'gather' && isComplete(each)) acknowledge(each.step.peer);
        advance();
      });
    },
  };
}
