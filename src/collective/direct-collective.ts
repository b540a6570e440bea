/**
 * One collective at one member: executes the direct plan, segment by segment, and follows what is still owed. Rounds start
 * by themselves as receives complete; no member waits for all others to finish a round.
 */
import { assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import type { Frame } from '../wire/frame.js';
import type { Link } from './links.js';
import { emptyFrame } from './links.js';
import { planDirect } from './plan/direct.js';
import type { Part, Phase, Plan, Reduce, Transfer } from './plan/plan.js';
import { weightedSumInto } from './reduce-kernel.js';
import type { CollectiveResult, CollectiveTask } from './task.js';

export interface DirectCollective {
  /** Runs to the end; rejects when `fail` is called or a send fails. */
  run(links: readonly Link[]): Promise<CollectiveResult>;
  /** A frame of this group from the member at `rank`. Throws `bad-frame`. */
  onFrame(rank: number, frame: Frame): void;
  fail(error: Error): void;
}

/** A receive of the plan on its way to completion; segments come in order. */
interface Incoming {
  readonly step: Transfer;
  readonly round: number;
  readonly target: Float32Array;
  /** Values received. */
  filled: number;
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

function badSegment(frame: Frame, rank: number, why: string): PreduceError {
  return new PreduceError(
    'bad-frame',
    `expected the next ${frame.type} of member ${rank}, got ${frame.payload.byteLength} bytes at value ${frame.offset}: ${why}`,
  );
}

/** Where each receive of the plan goes: slices to memory of their own, finished parts straight into the output. */
function createIncoming(plan: Plan, output: Float32Array): readonly Incoming[] {
  return plan.rounds.flatMap((steps, round) =>
    steps.flatMap((step) => {
      if (step.kind !== 'receive') return [];
      const { start, end } = partAt(plan, step.part);
      const target = step.phase === 'gather' ? output.subarray(start, end) : new Float32Array(end - start);
      return [{ step, round, target, filled: 0 }];
    }),
  );
}

function partAt(plan: Plan, index: number): Part {
  return assertPresent(plan.parts[index], `part ${index}`);
}

function isComplete({ filled, target }: Incoming): boolean {
  return filled === target.length;
}

/** Copies the payload to its place. Returns the values taken. Throws `bad-frame`. */
function place(frame: Frame, from: number, { target, filled }: Incoming): number {
  if (frame.payload.byteLength % BYTES_PER_VALUE !== 0) throw badSegment(frame, from, 'not whole values');
  const length = frame.payload.byteLength / BYTES_PER_VALUE;
  if (frame.offset !== filled || filled + length > target.length) {
    throw badSegment(frame, from, `value ${filled} of ${target.length} comes next`);
  }
  bytesOf(target).set(frame.payload, filled * BYTES_PER_VALUE);
  return length;
}

/** Prepares the collective; frames may be fed before `run`. */
export function createDirectCollective(task: CollectiveTask, segmentBytes: number): DirectCollective {
  const { rank, weights, input, output } = task;
  const plan = planDirect(rank, task.members.length, input.length);
  const incoming = createIncoming(plan, output);
  const segmentLength = Math.max(1, Math.floor(segmentBytes / BYTES_PER_VALUE));
  const acknowledgedBy = new Set<number>();
  let peers: readonly Link[] = [];
  let round = -1;
  let bytesSent = 0;
  let bytesReceived = 0;
  let sending = 0;
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

  async function sendPart({ phase, peer, part }: Transfer): Promise<void> {
    const { start, end } = partAt(plan, part);
    const values = (phase === 'reduce' ? input : output).subarray(start, end);
    // A copy: when the collective fails, its vectors are the caller's again while the last segment may still be on its way.
    const segment = new Float32Array(Math.min(values.length, segmentLength));
    for (let offset = 0; offset < values.length && !over; offset += segmentLength) {
      const piece = values.subarray(offset, offset + segmentLength);
      segment.set(piece);
      const payload = bytesOf(segment.subarray(0, piece.length));
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
    weightedSumInto(output.subarray(start, end), slices, weights);
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
    if (sending === 0 && incoming.every(isComplete) && acknowledgedBy.size === peers.length) {
      over = true;
      settle.resolve({ bytesSent, bytesReceived });
    }
  }

  function acknowledge(j: number): void {
    // Frames may come before this member has its links: `run` catches up.
    if (settle !== null) track(j, linkTo(j).send(emptyFrame('ack', task.group)));
  }

  function onSegment(from: number, frame: Frame, phase: Phase): void {
    const receive = find(phase, from, frame.part);
    if (receive === undefined) throw badSegment(frame, from, `part ${frame.part} is not its to send`);
    const length = place(frame, from, receive);
    if (length === 0) return;
    receive.filled += length;
    bytesReceived += frame.payload.byteLength;
    if (phase === 'gather' && isComplete(receive)) acknowledge(from);
  }

  return {
    fail,
    onFrame(from, frame) {
      if (over) return;
      if (frame.type === 'segment-reduce') onSegment(from, frame, 'reduce');
      else if (frame.type === 'segment-gather') onSegment(from, frame, 'gather');
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
