/**
 * One collective at one member: executes a plan, segment by segment, and follows what is still owed. A segment is summed
 * and passed on as soon as it is there; no member waits for all others to finish a round, nor for the whole of a part.
 */
import { assert, assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import type { Frame, FrameHeader } from '../wire/frame.js';
import { type ClipExchange, createClipExchange } from './clip-exchange.js';
import type { ReduceKernel } from './kernel/reduce-kernel.js';
import type { Link } from './links.js';
import { emptyFrame } from './links.js';
import type { Phase } from './plan/plan.js';
import { planCollective } from './plan/plans.js';
import { createStreams, type Incoming, isWhole, type Outgoing, scratchLength, type Sum } from './streams.js';
import type { CollectiveResult, CollectiveTask } from './task.js';

export interface PlanCollective {
  /** Ranks of the members that this one exchanges frames with, ascending. */
  readonly peers: readonly number[];
  /** Runs to the end, over a link to each of the peers by rank; rejects when `fail` is called or a send fails. */
  run(links: ReadonlyMap<number, Link>): Promise<CollectiveResult>;
  /** Where the payload of a frame that the member at `rank` has begun to send belongs; null: nowhere. Throws `bad-frame`. */
  place(rank: number, header: FrameHeader): Uint8Array | null;
  /** A frame of this group from the member at `rank`. Throws `bad-frame`. */
  onFrame(rank: number, frame: Frame): void;
  fail(error: Error): void;
  /** Whether a segment is on its way: from the vectors to the member at `rank`, or from it to its place. */
  isMoving(rank: number): boolean;
  /**
   * How late in the collective that comes which the member at `rank` owes now, of 0 to 1: values, room for values or its
   * acknowledgement; null: nothing.
   */
  latenessOf(rank: number): number | null;
  /** Values that the member at `rank` has been sent so far. */
  sentTo(rank: number): number;
}

const SEGMENT_OF = { reduce: 'segment-reduce', gather: 'segment-gather' } as const satisfies Record<Phase, string>;
const BYTES_PER_VALUE = Float32Array.BYTES_PER_ELEMENT;
/** When a clipping member's measure is due, in rounds counted from 1. */
const MEASURE_ROUND = 1.5;

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

/** The error of a collective whose member `worker` is there, and moves nothing. */
export function stalledMember(worker: number, pauseMs: number): PreduceError {
  return new PreduceError('timeout', `worker ${worker} moved no data in a collective for ${pauseMs} ms`, {
    details: { worker },
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

/** Where the payload belongs. Throws `bad-frame` for one that does not come next. */
function placeOf(header: FrameHeader, from: number, { values }: Incoming, next: number): Uint8Array {
  if (header.payloadBytes % BYTES_PER_VALUE !== 0) throw badSegment(header, from, 'not whole values');
  const length = header.payloadBytes / BYTES_PER_VALUE;
  if (header.offset !== next || next + length > values.length) {
    throw badSegment(header, from, `value ${next} of ${values.length} comes next`);
  }
  return bytesOf(values.subarray(next, next + length));
}

function isSameMemory(a: Uint8Array, b: Uint8Array): boolean {
  return a.buffer === b.buffer && a.byteOffset === b.byteOffset;
}

/** What is done to sums beside summing: both need them whole. */
interface SumRules {
  readonly kernel: ReduceKernel;
  readonly apply: CollectiveTask['apply'];
  readonly clip: ClipExchange | null;
}

/** Sums what has come of every operand since the last time. */
function extend(sum: Sum, { kernel, apply, clip }: SumRules): void {
  const { values, operands, weights, ready } = sum;
  let end = values.length;
  for (const operand of operands) end = Math.min(end, operand.ready);
  if (end === ready) return;
  if ((apply !== undefined || clip !== null) && end < values.length) return;
  // The other parts are not measured yet.
  if (clip?.factors === null) return;
  const slices = operands.map((operand) => operand.values.subarray(ready, end));
  if (clip === null || clip.clipped.length === 0) kernel.weightedSumInto(values.subarray(ready, end), slices, weights);
  else clip.sumInto(values, slices);
  apply?.(values);
  sum.ready = end;
}

/** Prepares the collective; frames may be fed before `run`. */
export function createPlanCollective(task: CollectiveTask, segmentBytes: number, kernel: ReduceKernel): PlanCollective {
  const count = task.members.length;
  const { collective } = task;
  const plan =
    typeof collective === 'string' ? planCollective(collective, task.rank, count, task.input.length) : collective;
  const scratch = task.scratch ?? new Float32Array(scratchLength(task.input.length, count));
  const { incoming, sums, outgoing } = createStreams(plan, task, scratch);
  const clip = task.clips === true ? createClipExchange(task.rank, task.weights) : null;
  assert(clip === null || plan.name === 'direct', 'only the direct plan clips');
  const rules: SumRules = { kernel, apply: task.apply, clip };
  const segmentLength = Math.max(1, Math.floor(segmentBytes / BYTES_PER_VALUE));
  const receivers = new Set(outgoing.map(({ step }) => step.peer));
  /** Members whose frames are still to come, or to be acknowledged. */
  const senders = new Set(incoming.map(({ step }) => step.peer));
  const peers = [...new Set([...receivers, ...senders])].sort((a, b) => a - b);
  const acknowledgedBy = new Set<number>();
  let linkOf: ReadonlyMap<number, Link> = new Map();
  let bytesSent = 0;
  let bytesReceived = 0;
  let acksOnTheirWay = 0;
  let measuresOnTheirWay = 0;
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
    return assertPresent(linkOf.get(j), `the link to member ${j}`);
  }

  /** Sends on, and calls `onSent` when the payload may be reused. */
  function send(j: number, frame: Parameters<Link['send']>[0], onSent: () => void): void {
    const link = linkTo(j);
    link.send(frame).then(
      () => {
        onSent();
        advance();
      },
      (error: unknown) => fail(lostMember(link.worker, error)),
    );
  }

  /** Sends the next segment of what is there. */
  function pump(each: Outgoing): void {
    const { step, source, sent } = each;
    const end = Math.min(source.ready, sent + segmentLength);
    if (each.isSending || end === sent) return;
    const payload = bytesOf(source.values.subarray(sent, end));
    each.sent = end;
    each.isSending = true;
    bytesSent += payload.byteLength;
    const { phase, part } = step;
    send(step.peer, { type: SEGMENT_OF[phase], group: task.group, part, offset: sent, payload }, () => {
      each.isSending = false;
    });
  }

  /** Measures the own part once it has all slices, and tells everybody. */
  function measure(each: ClipExchange): void {
    const [sum] = sums;
    if (sum === undefined || !sum.operands.every(isWhole)) return;
    const payload = each.measure(sum.operands.map(({ values }) => values));
    if (payload === null) return;
    for (const j of peers) {
      measuresOnTheirWay += 1;
      send(j, { type: 'measure', group: task.group, part: task.rank, offset: 0, payload }, () => {
        measuresOnTheirWay -= 1;
      });
    }
  }

  function hasMeasureOf(j: number): boolean {
    return clip === null || clip.has(j);
  }

  /** Tells whoever has sent everything that it owes this member nothing more. */
  function acknowledge(): void {
    for (const j of senders) {
      if (!hasMeasureOf(j) || !incoming.every((each) => each.step.peer !== j || isWhole(each))) continue;
      senders.delete(j);
      acksOnTheirWay += 1;
      send(j, emptyFrame('ack', task.group), () => {
        acksOnTheirWay -= 1;
      });
    }
  }

  function isOver(): boolean {
    return (
      senders.size === 0 &&
      acksOnTheirWay === 0 &&
      measuresOnTheirWay === 0 &&
      acknowledgedBy.size === receivers.size &&
      outgoing.every(({ source, sent, isSending }) => !isSending && sent === source.values.length) &&
      sums.every(isWhole)
    );
  }

  /** Takes whatever steps have become possible. */
  function advance(): void {
    if (over || settle === null) return;
    if (clip !== null) measure(clip);
    for (const sum of sums) extend(sum, rules);
    for (const each of outgoing) pump(each);
    acknowledge();
    if (!isOver()) return;
    over = true;
    settle.resolve({ bytesSent, bytesReceived, clipped: clip?.clipped ?? [] });
  }

  /** The receive that a segment is of; null for other frames. Throws `bad-frame`. */
  function receiveOf(from: number, header: FrameHeader): Incoming | null {
    const phase = header.type === SEGMENT_OF.reduce ? 'reduce' : header.type === SEGMENT_OF.gather ? 'gather' : null;
    if (phase === null) return null;
    const receive = incoming.find(
      ({ step }) => step.phase === phase && step.peer === from && step.part === header.part,
    );
    if (receive === undefined) throw badSegment(header, from, `part ${header.part} is not its to send`);
    return receive;
  }

  function onSegment(from: number, frame: Frame, receive: Incoming): void {
    const place = placeOf(headerOf(frame), from, receive, receive.ready);
    // In its place already, unless it came before this group was known here.
    if (!isSameMemory(place, frame.payload)) place.set(frame.payload);
    receive.ready += place.byteLength / BYTES_PER_VALUE;
    receive.placed = Math.max(receive.placed, receive.ready);
    bytesReceived += place.byteLength;
  }

  function onAck(from: number): void {
    if (!receivers.has(from)) throw new PreduceError('bad-frame', `expected no ack of member ${from}: it gets nothing`);
    acknowledgedBy.add(from);
  }

  /** Rounds count from 1, as there is a time before the first; the last thing owed is the acknowledgement. */
  function latenessOf(j: number): number | null {
    const rounds = plan.rounds.length + 1;
    const missing = incoming.filter((each) => each.step.peer === j && !isWhole(each)).map(({ round }) => round + 1);
    // Between the first round and the second.
    if (!hasMeasureOf(j)) missing.push(MEASURE_ROUND);
    if (missing.length > 0) return Math.min(...missing) / rounds;
    const sends = outgoing.filter(({ step }) => step.peer === j);
    const isWaiting = sends.every(({ source, sent, isSending }) => isSending || sent === source.values.length);
    return sends.length > 0 && isWaiting && !acknowledgedBy.has(j) ? 1 : null;
  }

  return {
    peers,
    fail,
    latenessOf,
    sentTo: (j) => outgoing.reduce((sum, { step, sent }) => (step.peer === j ? sum + sent : sum), 0),
    isMoving: (j) =>
      outgoing.some(({ step, isSending }) => step.peer === j && isSending) ||
      incoming.some(({ step, placed, ready }) => step.peer === j && placed > ready),
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
      else if (frame.type === 'ack') onAck(from);
      else if (frame.type === 'measure' && clip !== null) clip.take(from, frame.payload);
      else throw new PreduceError('bad-frame', `expected a segment or an ack in a collective, got ${frame.type}`);
      advance();
    },
    run(links) {
      linkOf = links;
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
        // A member may have been lost while the links were made.
        if (failure !== null) return reject(failure);
        // Empty parts are whole from the beginning; others may have come early.
        advance();
      });
    },
  };
}
