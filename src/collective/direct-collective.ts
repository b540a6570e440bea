/**
 * One collective by the direct plan, at one member: what was received, what is still owed.
 */
import { assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import type { Frame, FrameType } from '../wire/frame.js';
import type { Link } from './links.js';
import { emptyFrame } from './links.js';
import { type Part, splitParts } from './plan/direct.js';
import { weightedSumInto } from './reduce-kernel.js';
import type { CollectiveResult, CollectiveTask } from './task.js';

export interface DirectCollective {
  /** Runs to the end; rejects when `fail` is called or a send fails. */
  run(links: readonly Link[]): Promise<CollectiveResult>;
  /** A frame of this group from the member at `rank`. Throws `bad-frame`. */
  onFrame(rank: number, frame: Frame): void;
  fail(error: Error): void;
}

interface Incoming {
  /** The member's slice of this member's own part. */
  readonly slice: Float32Array;
  sliceCount: number;
  gatherCount: number;
  acknowledged: boolean;
}

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

function badSegment(frame: Frame, rank: number, why: string): PreduceError {
  return new PreduceError(
    'bad-frame',
    `expected the next ${frame.type} of member ${rank}, got ${frame.payload.byteLength} bytes at value ${frame.offset}: ${why}`,
  );
}

/** Prepares the collective; frames may be fed before `run`. */
export function createDirectCollective(task: CollectiveTask, segmentBytes: number): DirectCollective {
  const { rank, weights, input, output } = task;
  const count = task.members.length;
  const parts = splitParts(input.length, count);
  const own = assertPresent(parts[rank], `part ${rank}`);
  const ownLength = own.end - own.start;
  const incoming: readonly Incoming[] = parts.map((_, j) => ({
    slice: j === rank ? input.subarray(own.start, own.end) : new Float32Array(ownLength),
    sliceCount: 0,
    gatherCount: 0,
    acknowledged: false,
  }));
  const others = parts.map((_, j) => j).filter((j) => j !== rank);
  const segmentLength = Math.max(1, Math.floor(segmentBytes / BYTES_PER_VALUE));
  let peers: readonly Link[] = [];
  let bytesSent = 0;
  let bytesReceived = 0;
  let sending = 0;
  let reduced = false;
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
    sending += 1;
    work.then(
      () => {
        sending -= 1;
        advance();
      },
      (error: unknown) => fail(lostMember(linkTo(j).worker, error)),
    );
  }

  async function sendPart(
    type: FrameType,
    to: number,
    part: Part,
    partIndex: number,
    from: Float32Array,
  ): Promise<void> {
    for (let start = part.start; start < part.end && !over; start += segmentLength) {
      const end = Math.min(part.end, start + segmentLength);
      const payload = bytesOf(from.subarray(start, end));
      bytesSent += payload.byteLength;
      await linkTo(to).send({ type, group: task.group, part: partIndex, offset: start - part.start, payload });
    }
  }

  /** Takes whatever step has become possible. */
  function advance(): void {
    if (over || settle === null) return;
    if (!reduced && others.every((j) => incoming[j]?.sliceCount === ownLength)) {
      reduced = true;
      weightedSumInto(
        output.subarray(own.start, own.end),
        incoming.map((member) => member.slice),
        weights,
      );
      for (const j of others) track(j, sendPart('segment-gather', j, own, rank, output));
    }
    const complete = others.every((j) => incoming[j]?.acknowledged === true && isGathered(j));
    if (reduced && sending === 0 && complete) {
      over = true;
      settle.resolve({ bytesSent, bytesReceived });
    }
  }

  function isGathered(j: number): boolean {
    const part = assertPresent(parts[j], `part ${j}`);
    return incoming[j]?.gatherCount === part.end - part.start;
  }

  function acknowledge(j: number): void {
    // Frames may come before this member has its links: `run` catches up.
    if (settle !== null) track(j, linkTo(j).send(emptyFrame('ack', task.group)));
  }

  /** Copies the payload to its place; segments of one member come in order. Returns the new count. */
  function place(frame: Frame, from: number, target: Float32Array, filled: number): number {
    if (frame.payload.byteLength % BYTES_PER_VALUE !== 0) throw badSegment(frame, from, 'not whole values');
    const length = frame.payload.byteLength / BYTES_PER_VALUE;
    if (frame.offset !== filled || filled + length > target.length) {
      throw badSegment(frame, from, `value ${filled} of ${target.length} comes next`);
    }
    bytesOf(target).set(frame.payload, filled * BYTES_PER_VALUE);
    bytesReceived += frame.payload.byteLength;
    return filled + length;
  }

  function onFrame(from: number, frame: Frame): void {
    if (over) return;
    const member = assertPresent(incoming[from], `member ${from}`);
    switch (frame.type) {
      case 'segment-reduce':
        member.sliceCount = place(frame, from, member.slice, member.sliceCount);
        break;
      case 'segment-gather': {
        const part = assertPresent(parts[from], `part ${from}`);
        if (frame.part !== from) throw badSegment(frame, from, `part ${frame.part} is not its own`);
        member.gatherCount = place(frame, from, output.subarray(part.start, part.end), member.gatherCount);
        if (isGathered(from)) acknowledge(from);
        break;
      }
      case 'ack':
        member.acknowledged = true;
        break;
      default:
        throw new PreduceError('bad-frame', `expected a segment or an ack in a collective, got ${frame.type}`);
    }
    advance();
  }

  return {
    fail,
    onFrame,
    run(links) {
      peers = links;
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
        // A member may have been lost while the links were made.
        if (failure !== null) return reject(failure);
        for (const j of others) {
          track(j, sendPart('segment-reduce', j, assertPresent(parts[j], `part ${j}`), j, input));
          // Empty parts are complete from the beginning; others may have come early.
          if (isGathered(j)) acknowledge(j);
        }
        advance();
      });
    },
  };
}
