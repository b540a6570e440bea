import { beforeEach, describe, expect, it } from 'vitest';
import { MISSED_ROUNDS_MAX } from '../collective/kernel/send-buffer.js';
import type { ReplicaState } from '../collective/task.js';
import type { GroupMessage } from '../wire/messages.js';
import { createPassivePart, type PassivePart } from './passive-part.js';
import type { FromCommThread, PassiveMessage, PassiveRole } from './thread-messages.js';

const REPORT = { samples: 1, loss: 0, computeMs: 1, paddingMs: 0, overrun: false };

let input: Float32Array;
let output: Float32Array;
let handover: Float32Array;
let posted: FromCommThread[];
let readies: number[];
let served: ReplicaState | null;
let part: PassivePart;

function open(role: PassiveRole): void {
  [input, output, handover] = [new Float32Array(2), new Float32Array(2), new Float32Array(2)];
  [posted, readies, served] = [[], [], null];
  part = createPassivePart(role, {
    input,
    output,
    handover,
    post: (message) => posted.push(message),
    serve: (state) => {
      served = state;
    },
    sendReady: (message) => readies.push(message.k),
  });
  part.start({ k: 0, values: Float32Array.of(7, 7) });
}

function group(kMax: number): GroupMessage {
  const progress = { samples: 10 * kMax, localSteps: kMax };
  return { type: 'group', group: kMax, kind: 'step', collective: 'direct', members: [], kMax, progress };
}

function publish(k: number, values: readonly number[]): void {
  handover.set(values);
  part.accept({ type: 'publish', k, finite: true, slot: 0, report: REPORT });
}

/** Everything that can happen now has happened. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function isPending(promise: Promise<void>): Promise<boolean> {
  let pending = true;
  void promise.then(() => {
    pending = false;
  });
  await settled();
  return pending;
}

/** A collective from its beginning to this result. */
async function collective(kMax: number, result: readonly number[]): Promise<void> {
  await part.begin();
  output.set(result);
  part.committed(group(kMax));
}

describe('a published replica', () => {
  beforeEach(() => open('odd-workers'));

  it('is averaged as it was published, and is what the average made of it', async () => {
    expect([...input]).toEqual([7, 7]);
    part.accept({ type: 'hold' });
    await settled();
    publish(1, [1, 2]);
    await collective(1, [5, 6]);
    expect([...input]).toEqual([5, 6]);
    expect(served).toEqual({ k: 1, values: input });
    expect(readies).toEqual([1]);
  });

  it('keeps its own k where that is higher', async () => {
    part.accept({ type: 'hold' });
    await settled();
    publish(9, [1, 2]);
    await collective(4, [5, 6]);
    part.accept({ type: 'hold' });
    await settled();
    expect(posted.at(-1)).toEqual({ type: 'held', k: 9, progress: { samples: 40, localSteps: 4 } });
  });

  it('has a collective wait while the training thread holds it, and the training thread while a collective runs', async () => {
    part.accept({ type: 'hold' });
    await settled();
    const begun = part.begin();
    expect(await isPending(begun)).toBe(true);
    part.accept({ type: 'letGo' });
    await begun;
    part.accept({ type: 'hold' });
    await settled();
    expect(posted).toHaveLength(1);
    part.aborted();
    await settled();
    expect(posted.at(-1)).toEqual({ type: 'held', k: 0, progress: null });
    expect([...input]).toEqual([7, 7]);
  });

  it('refuses a turn that nobody has taken', () => {
    expect(() => part.accept({ type: 'letGo' } satisfies PassiveMessage)).toThrow('only a turn that was taken');
  });
});

describe('a send buffer', () => {
  beforeEach(() => open('everybody'));

  it('adds gradients up, gives each to one round, and zeros where there are none', async () => {
    publish(1, [1, 2]);
    publish(2, [10, 20]);
    await part.begin();
    expect([...input]).toEqual([11, 22]);
    part.committed(group(1));
    await part.begin();
    expect([...input]).toEqual([0, 0]);
  });

  it('keeps for the next round what an aborted one did not take', async () => {
    publish(1, [1, 2]);
    await part.begin();
    publish(2, [10, 20]);
    part.aborted();
    await part.begin();
    expect([...input]).toEqual([11, 22]);
  });

  it('tells every round, in order, with the progress of that round', async () => {
    await collective(1, [3, 4]);
    await collective(2, [5, 6]);
    const rounds = posted.flatMap((message) => (message.type === 'round' ? [message] : []));
    expect(rounds.map(({ k, sum, progress }) => [k, [...sum], progress.samples])).toEqual([
      [1, [3, 4], 10],
      [2, [5, 6], 20],
    ]);
  });

  it('has the next round wait once too many were missed, until one is applied', async () => {
    for (let k = 1; k <= MISSED_ROUNDS_MAX; k += 1) await collective(k, [k, k]);
    const begun = part.begin();
    expect(await isPending(begun)).toBe(true);
    part.accept({ type: 'applied', slot: 0 });
    expect(await isPending(begun)).toBe(false);
  });

  it('begins the final average with what the training thread offers', async () => {
    const begun = part.beginFinal();
    expect(posted).toEqual([{ type: 'finalDue' }]);
    expect(await isPending(begun)).toBe(true);
    handover.set([8, 9]);
    part.accept({ type: 'offer' });
    await begun;
    expect([...input]).toEqual([8, 9]);
  });
});
