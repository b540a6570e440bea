/**
 * One member's side of a collective, fed by hand: which frames it refuses, and that a failed one lets go of its vectors.
 */
import { describe, expect, it } from 'vitest';
import { groupId } from '../base/ids.js';
import type { Frame } from '../wire/frame.js';
import { createPlanCollective } from './plan-collective.js';
import { plainKernel } from './kernel/plain-kernel.js';
import type { Link } from './links.js';
import type { CollectiveTask } from './task.js';

const GROUP = groupId(1, 1);

/** Member 0 of 2, with ten values: five are its own part. */
function createTask(): CollectiveTask {
  return {
    group: GROUP,
    collective: 'direct',
    members: [0, 1].map((worker) => ({ worker, incarnation: 1, address: { host: 'here', port: 1 + worker } })),
    rank: 0,
    weights: [0.5, 0.5],
    input: new Float32Array(10).fill(2),
    output: new Float32Array(10),
    signal: new AbortController().signal,
  };
}

/** A link that never has room: it keeps the payloads themselves, as a socket with a full buffer does. */
function createStuckLink() {
  const sent: Omit<Frame, 'sender' | 'incarnation'>[] = [];
  const link: Link = {
    worker: 1,
    incarnation: 1,
    send(frame) {
      sent.push(frame);
      return new Promise(() => undefined);
    },
  };
  return { link, sent };
}

function segment(type: Frame['type'], part: number, offset: number, values: readonly number[]): Frame {
  const payload = new Uint8Array(Float32Array.from(values).buffer);
  return { type, sender: 1, incarnation: 1, group: GROUP, part, offset, payload };
}

describe('a collective', () => {
  it('knows what may still be on its way when it fails', async () => {
    const { link, sent } = createStuckLink();
    const collective = createPlanCollective(createTask(), 1024, plainKernel);
    const outcome = collective.run(new Map([[1, link]])).catch((error: unknown) => error);
    collective.onFrame(1, segment('segment-reduce', 0, 0, [4, 4, 4, 4, 4]));
    collective.onFrame(1, segment('segment-gather', 1, 0, [3, 3, 3, 3, 3]));
    const failure = new Error('enough');
    collective.fail(failure);
    expect(await outcome).toBe(failure);
    expect(sent.map(({ type, part }) => [type, part])).toEqual([
      ['segment-reduce', 1],
      ['segment-gather', 0],
      ['ack', 0],
    ]);
    // Everything was received, but the link has taken nothing.
    expect(collective.isMoving(1)).toBe(true);
  });

  it('owes nothing at its end', async () => {
    const collective = createPlanCollective(createTask(), 1024, plainKernel);
    const link: Link = { worker: 1, incarnation: 1, send: () => Promise.resolve() };
    const outcome = collective.run(new Map([[1, link]]));
    collective.onFrame(1, segment('segment-reduce', 0, 0, [4, 4, 4, 4, 4]));
    const { payload: _, ...header } = segment('segment-gather', 1, 0, []);
    const place = collective.place(1, { ...header, payloadBytes: 20 }) as Uint8Array;
    expect(collective.isMoving(1)).toBe(true);
    collective.onFrame(1, { ...header, payload: place });
    collective.onFrame(1, segment('ack', 0, 0, []));
    await outcome;
    expect(collective.isMoving(1)).toBe(false);
  });

  it('gives each segment its place, in order, whether or not it arrives there', async () => {
    const task = createTask();
    const collective = createPlanCollective(task, 1024, plainKernel);
    const { payload: _, ...header } = segment('segment-gather', 1, 0, []);
    const first = collective.place(1, { ...header, payloadBytes: 8 });
    const second = collective.place(1, { ...header, offset: 2, payloadBytes: 12 });
    expect(first?.buffer).toBe(task.output.buffer);
    expect([first?.byteOffset, second?.byteOffset]).toEqual([20, 28]);
    expect(() => collective.place(1, { ...header, offset: 2, payloadBytes: 4 })).toThrow('value 5 of 5 comes next');
    first?.set(new Uint8Array(Float32Array.of(7, 8).buffer));
    collective.onFrame(1, { ...header, payload: first as Uint8Array });
    collective.onFrame(1, segment('segment-gather', 1, 2, [9, 10, 11]));
    expect([...task.output.subarray(5)]).toEqual([7, 8, 9, 10, 11]);
    collective.fail(new Error('enough'));
    expect(collective.place(1, { ...header, payloadBytes: 4 })).toBe(null);
  });

  it.each([
    ['a slice of a part that is not ours', segment('segment-reduce', 1, 0, [1])],
    ['a sum of a part that is not the sender’s', segment('segment-gather', 0, 0, [1])],
    ['a part that does not exist', segment('segment-gather', 7, 0, [1])],
    ['a segment out of order', segment('segment-reduce', 0, 1, [1])],
    ['more values than the part has', segment('segment-reduce', 0, 0, [1, 2, 3, 4, 5, 6])],
    ['half a value', { ...segment('segment-reduce', 0, 0, []), payload: new Uint8Array(6) }],
    ['a frame of another kind', segment('state-end', 0, 0, [])],
  ])('refuses %s', (_what, frame) => {
    const collective = createPlanCollective(createTask(), 1024, plainKernel);
    expect(() => collective.onFrame(1, frame)).toThrow(expect.objectContaining({ code: 'bad-frame' }));
  });

  it('refuses a segment that comes twice', () => {
    const collective = createPlanCollective(createTask(), 1024, plainKernel);
    collective.onFrame(1, segment('segment-gather', 1, 0, [1, 2]));
    expect(() => collective.onFrame(1, segment('segment-gather', 1, 0, [1, 2]))).toThrow('value 2 of 5 comes next');
  });
});

/** Member 1 of 3 in a ring, with twelve values: it receives of member 0 and sends to member 2. */
function createRingTask(): CollectiveTask {
  return {
    ...createTask(),
    collective: 'ring',
    members: [0, 1, 2].map((worker) => ({ worker, incarnation: 1, address: { host: 'here', port: 1 + worker } })),
    rank: 1,
    weights: [0.5, 0.25, 0.25],
    input: new Float32Array(12).fill(4),
    output: new Float32Array(12),
  };
}

/** Runs the ring task with segments of two values; `sent` is what has been sent to member 2 and not been looked at. */
function runRing() {
  const collective = createPlanCollective(createRingTask(), 8, plainKernel);
  const sent: string[] = [];
  const link = (worker: number): Link => ({
    worker,
    incarnation: 1,
    send({ type, part, offset, payload }) {
      const values = new Float32Array(payload.slice().buffer);
      sent.push(`${worker}: ${type} ${part} ${offset} ${values.join(' ')}`.trim());
      return Promise.resolve();
    },
  });
  const outcome = collective.run(
    new Map([
      [0, link(0)],
      [2, link(2)],
    ]),
  );
  async function taken(): Promise<readonly string[]> {
    await new Promise((resolve) => setImmediate(resolve));
    return sent.splice(0);
  }
  return { collective, outcome, taken };
}

describe('a ring', () => {
  it('sums and passes each segment on at once, and ends with the acknowledgement of the next', async () => {
    const { collective, outcome, taken } = runRing();
    expect(collective.peers).toEqual([0, 2]);
    expect(await taken()).toEqual(['2: segment-reduce 0 0 4 4', '2: segment-reduce 0 2 4 4']);
    // Values of member 0, not weighted yet: 0.5 * 2 + 0.25 * 4.
    collective.onFrame(0, segment('segment-reduce', 2, 0, [2, 2]));
    expect(await taken()).toEqual(['2: segment-reduce 2 0 2 2']);
    // A sum of members 2 and 0: 3 + 0.25 * 4, which is the result.
    collective.onFrame(0, segment('segment-reduce', 1, 0, [3, 3]));
    expect(await taken()).toEqual(['2: segment-gather 1 0 4 4']);
    collective.onFrame(0, segment('segment-gather', 0, 0, [7, 8]));
    expect(await taken()).toEqual(['2: segment-gather 0 0 7 8']);
    collective.onFrame(2, segment('ack', 0, 0, []));
    collective.onFrame(0, segment('segment-gather', 2, 0, [5, 5, 5, 5]));
    collective.onFrame(0, segment('segment-gather', 0, 2, [7, 8]));
    collective.onFrame(0, segment('segment-reduce', 2, 2, [2, 2]));
    expect(await taken()).not.toContain('0: ack 0 0');
    collective.onFrame(0, segment('segment-reduce', 1, 2, [3, 3]));
    expect(await taken()).toContain('0: ack 0 0');
    expect(await outcome).toEqual({ bytesSent: 64, bytesReceived: 64, clipped: [] });
  });

  it.each([
    ['a segment of the next', 2, segment('segment-reduce', 2, 0, [1])],
    ['a segment of another member', 3, segment('segment-gather', 0, 0, [1])],
    ['a part that the former does not send', 0, segment('segment-reduce', 0, 0, [1])],
    ['the result of the own part', 0, segment('segment-gather', 1, 0, [1])],
    ['an acknowledgement of the former', 0, segment('ack', 0, 0, [])],
  ])('refuses %s', (_what, rank, frame) => {
    const collective = createPlanCollective(createRingTask(), 8, plainKernel);
    expect(() => collective.onFrame(rank, frame)).toThrow(expect.objectContaining({ code: 'bad-frame' }));
  });

  it('knows the neighbour that a partial sum is on its way to when it fails', async () => {
    const { link } = createStuckLink();
    const collective = createPlanCollective(createRingTask(), 1024, plainKernel);
    const outcome = collective.run(new Map([0, 2].map((worker) => [worker, { ...link, worker }])));
    collective.fail(new Error('enough'));
    await expect(outcome).rejects.toThrow('enough');
    expect([0, 2].map((rank) => collective.isMoving(rank))).toEqual([false, true]);
  });
});
