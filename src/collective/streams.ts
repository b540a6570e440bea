/**
 * A plan tied to the memory of one member: streams of values, each of which grows from its beginning, and what feeds what.
 * A segment can so be summed and passed on as soon as it is there, whichever the plan.
 */
import { assertPresent } from '../base/assert.js';
import { ALIGNMENT } from './kernel/vector-memory.js';
import type { Plan, Reduce, Transfer } from './plan/plan.js';
import type { CollectiveTask } from './task.js';

/** A part of a vector of which the first `ready` values are there. */
export interface Stream {
  readonly values: Float32Array;
  ready: number;
}

/** A receive of the plan on its way to completion; segments come in order. */
export interface Incoming extends Stream {
  readonly step: Transfer;
  /** Position of its round in the plan. */
  readonly round: number;
  /** Values received or on their way to their place. */
  placed: number;
}

/** A reduce of the plan. Where it is summed in place, `values` are those of its first operand. */
export interface Sum extends Stream {
  readonly operands: readonly Stream[];
  readonly weights: readonly number[];
}

/** A send of the plan. */
export interface Outgoing {
  readonly step: Transfer;
  readonly source: Stream;
  /** Values handed to the network, or on their way there. */
  sent: number;
  /** Whether a segment is being handed over. */
  isSending: boolean;
}

export interface Streams {
  readonly incoming: readonly Incoming[];
  /** In the order of the plan: a sum may feed a later one. */
  readonly sums: readonly Sum[];
  readonly outgoing: readonly Outgoing[];
}

/** Values of scratch memory that a collective of `count` members and `length` values needs at most, whichever the plan. */
export function scratchLength(length: number, count: number): number {
  return length + ALIGNMENT * count;
}

export function isWhole({ values, ready }: Stream): boolean {
  return ready === values.length;
}

/**
 * Ties `plan` to the task's vectors. What is received to be summed gets memory of its own in `scratch`, where partial sums
 * stay; results go straight into the output.
 */
export function createStreams(plan: Plan, task: CollectiveTask, scratch: Float32Array): Streams {
  const { input, output, weights, rank } = task;
  const incoming: Incoming[] = [];
  const sums: Sum[] = [];
  const outgoing: Outgoing[] = [];
  /** By part: what this member has of it to send, where that is not its own values. */
  const held = new Map<number, Stream>();
  let used = 0;

  function takeScratch(length: number): Float32Array {
    const slice = scratch.subarray(used, used + length);
    used += Math.ceil(length / ALIGNMENT) * ALIGNMENT;
    return slice;
  }

  function partOf(vector: Float32Array, index: number): Float32Array {
    const { start, end } = assertPresent(plan.parts[index], `part ${index}`);
    return vector.subarray(start, end);
  }

  function own(part: number): Stream {
    const values = partOf(input, part);
    return { values, ready: values.length };
  }

  function receive(step: Transfer, round: number): void {
    const target = partOf(output, step.part);
    const values = step.phase === 'gather' ? target : takeScratch(target.length);
    const stream: Incoming = { step, round, values, ready: 0, placed: 0 };
    incoming.push(stream);
    if (step.phase === 'gather') held.set(step.part, stream);
  }

  function arrivalFrom(peer: number, part: number): Incoming {
    const arrival = incoming.find(({ step }) => step.phase === 'reduce' && step.peer === peer && step.part === part);
    return assertPresent(arrival, `part ${part} from member ${peer}`);
  }

  function reduce({ part, sources, terms }: Reduce): void {
    const operands = sources.map((source) => (source === rank ? own(part) : arrivalFrom(source, part)));
    const factors = sources.map((source) => {
      // A partial sum is weighted already.
      const isPartial = source !== rank && arrivalFrom(source, part).step.terms > 1;
      return isPartial ? 1 : assertPresent(weights[source], `the weight of member ${source}`);
    });
    const isResult = terms === plan.count;
    const values = isResult ? partOf(output, part) : assertPresent(operands[0], 'an operand').values;
    const sum: Sum = { values, ready: 0, operands, weights: factors };
    sums.push(sum);
    held.set(part, sum);
  }

  for (const [round, steps] of plan.rounds.entries()) {
    for (const step of steps) {
      if (step.kind === 'receive') receive(step, round);
      else if (step.kind === 'reduce') reduce(step);
      else outgoing.push({ step, source: held.get(step.part) ?? own(step.part), sent: 0, isSending: false });
    }
  }
  return { incoming, sums, outgoing };
}
