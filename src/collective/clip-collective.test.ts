/**
 * Collectives that clip, between communicators: every member ends with the same bits, those of the rule on whole vectors.
 */
import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { groupId } from '../base/ids.js';
import { createRandom } from '../base/random.js';
import { createMemoryTransport } from '../transport/memory.js';
import { createTcpTransport } from '../transport/tcp.js';
import type { Transport } from '../transport/transport.js';
import { clipFactors, clippedSumInto, measurePart } from './clip.js';
import { createCommunicator } from './communicator.js';
import { createPlanCollective } from './plan-collective.js';
import { plainKernel } from './kernel/plain-kernel.js';
import type { CollectiveTask } from './task.js';

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);

interface Case {
  readonly count: number;
  readonly length: number;
  /** Whose values are a million times too large. */
  readonly bad: readonly number[];
  /** Members of weight 0. */
  readonly skipped?: readonly number[];
}

async function reduceAll(transport: Transport, { count, length, bad, skipped = [] }: Case, clips: boolean) {
  const random = createRandom(count * 31 + length);
  const inputs = Array.from({ length: count }, (_, rank) =>
    Float32Array.from({ length }, () => {
      if (skipped.includes(rank)) return Number.NaN;
      return (bad.includes(rank) ? 1e6 : 1) * (1 + 0.1 * random.normal());
    }),
  );
  const share = 1 / (count - skipped.length);
  const weights = inputs.map((_, rank) => (skipped.includes(rank) ? 0 : share));
  const members = await Promise.all(
    inputs.map(async (input, worker) => {
      const communicator = await createCommunicator(
        { listen: { host: '127.0.0.1', port: 0 }, segmentBytes: 1024, serve: () => null },
        { transport },
      );
      communicator.setIdentity({ role: 'worker', worker, incarnation: 1, runKey: 'key' });
      const peer = { worker, incarnation: 1, address: communicator.address };
      return { communicator, peer, input, output: new Float32Array(length) };
    }),
  );
  const results = await Promise.all(
    members.map(({ communicator, input, output }, rank) =>
      communicator.reduce({
        group: groupId(1, 1),
        collective: 'direct',
        clips,
        members: members.map(({ peer }) => peer),
        rank,
        weights,
        input,
        output,
        signal: NEVER,
      }),
    ),
  );
  await Promise.all(members.map(({ communicator }) => communicator.close()));
  return { inputs, weights, outputs: members.map(({ output }) => output), results };
}

const CASES: readonly Case[] = [
  { count: 1, length: 10, bad: [] },
  { count: 2, length: 1, bad: [1] },
  { count: 2, length: 5000, bad: [0] },
  { count: 3, length: 0, bad: [] },
  { count: 3, length: 2, bad: [2] },
  { count: 3, length: 5000, bad: [1] },
  { count: 4, length: 5000, bad: [0], skipped: [2] },
  { count: 5, length: 777, bad: [3, 4] },
];

describe.each([
  ['memory', createMemoryTransport],
  ['sockets', () => createTcpTransport()],
] as const)('a collective that clips on %s', (_name, transport) => {
  it.each(CASES)('gives $count members with $length values the same, $bad being far', async (of) => {
    const { inputs, weights, outputs, results } = await reduceAll(transport(), of, true);
    const factors = clipFactors(measurePart(inputs, weights), weights);
    const expected = new Float32Array(of.length);
    clippedSumInto(expected, inputs, { weights, factors });
    for (const output of outputs) expect(output).toEqual(outputs[0]);
    outputs[0]?.forEach((value, i) => {
      expect(Math.abs(value - (expected[i] as number))).toBeLessThan(1e-5);
      expect(Math.abs(value - 1)).toBeLessThan(1);
    });
    for (const { clipped } of results) expect(clipped).toEqual(of.bad);
  });

  it('is the plain sum, bit for bit, where nobody is far', async () => {
    const of = { count: 4, length: 3000, bad: [] };
    const [clipped, plain] = await Promise.all([reduceAll(transport(), of, true), reduceAll(transport(), of, false)]);
    expect(clipped.outputs).toEqual(plain.outputs);
  });
});

describe('the measure of a part', () => {
  const task: CollectiveTask = {
    group: groupId(1, 1),
    collective: 'direct',
    clips: true,
    members: [0, 1].map((worker) => ({ worker, incarnation: 1, address: { host: 'here', port: 1 + worker } })),
    rank: 0,
    weights: [0.5, 0.5],
    input: new Float32Array(10),
    output: new Float32Array(10),
    signal: NEVER,
  };
  const frame = (payload: Uint8Array) =>
    ({ type: 'measure', sender: 1, incarnation: 1, group: task.group, part: 1, offset: 0, payload }) as const;
  const squares = (...values: number[]) => new Uint8Array(Float64Array.from(values).buffer);

  it.each([
    ['of another length', squares(1, 2)],
    ['that is negative', squares(1, -2, 3)],
    ['that is no number', squares(1, Number.NaN, 3)],
  ])('is refused, one %s', (_what, payload) => {
    const collective = createPlanCollective(task, 1024, plainKernel);
    expect(() => collective.onFrame(1, frame(payload))).toThrow(expect.objectContaining({ code: 'bad-frame' }));
  });

  it('is refused when it comes twice, and where nobody clips', () => {
    const collective = createPlanCollective(task, 1024, plainKernel);
    collective.onFrame(1, frame(squares(1, 2, 3)));
    expect(() => collective.onFrame(1, frame(squares(1, 2, 3)))).toThrow('expected one measure');
    const plain = createPlanCollective({ ...task, clips: false }, 1024, plainKernel);
    expect(() => plain.onFrame(1, frame(squares(1, 2, 3)))).toThrow('got measure');
  });
});
