/**
 * One member's side of a collective, fed by hand: which frames it refuses, and that a failed one lets go of its vectors.
 */
import { describe, expect, it } from 'vitest';
import { groupId } from '../base/ids.js';
import type { Frame } from '../wire/frame.js';
import { createDirectCollective } from './direct-collective.js';
import type { Link } from './links.js';
import type { CollectiveTask } from './task.js';

const GROUP = groupId(1, 1);

/** Member 0 of 2, with ten values: five are its own part. */
function createTask(): CollectiveTask {
  return {
    group: GROUP,
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

function floatsOf(bytes: Uint8Array | undefined): number[] {
  return [...new Float32Array((bytes ?? new Uint8Array(0)).slice().buffer)];
}

describe('a direct collective', () => {
  it('leaves what is on its way alone when it fails and its vectors are used again', async () => {
    const task = createTask();
    const { link, sent } = createStuckLink();
    const collective = createDirectCollective(task, 1024);
    const outcome = collective.run([link]).catch((error: unknown) => error);
    collective.onFrame(1, segment('segment-reduce', 0, 0, [4, 4, 4, 4, 4]));
    const failure = new Error('enough');
    collective.fail(failure);
    expect(await outcome).toBe(failure);
    task.input.fill(Number.NaN);
    task.output.fill(Number.NaN);
    expect(sent.map(({ type, part }) => [type, part])).toEqual([
      ['segment-reduce', 1],
      ['segment-gather', 0],
    ]);
    expect(floatsOf(sent[0]?.payload)).toEqual([2, 2, 2, 2, 2]);
    expect(floatsOf(sent[1]?.payload)).toEqual([3, 3, 3, 3, 3]);
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
    const collective = createDirectCollective(createTask(), 1024);
    expect(() => collective.onFrame(1, frame)).toThrow(expect.objectContaining({ code: 'bad-frame' }));
  });

  it('refuses a segment that comes twice', () => {
    const collective = createDirectCollective(createTask(), 1024);
    collective.onFrame(1, segment('segment-gather', 1, 0, [1, 2]));
    expect(() => collective.onFrame(1, segment('segment-gather', 1, 0, [1, 2]))).toThrow('value 2 of 5 comes next');
  });
});
