/**
 * What every communicator must do, on any transport: collectives by any plan (describeCollectives), transfers of a replica
 * (describeTransfers).
 */
import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PreduceError } from '../../src/base/errors.js';
import { groupId } from '../../src/base/ids.js';
import { createRandom } from '../../src/base/random.js';
import { dialAdmitted, PURPOSES } from '../../src/collective/admission.js';
import { createCommunicator } from '../../src/collective/communicator.js';
import { plainKernel } from '../../src/collective/kernel/plain-kernel.js';
import type { ReduceKernel } from '../../src/collective/kernel/reduce-kernel.js';
import { createVectorMemory } from '../../src/collective/kernel/vector-memory.js';
import type { PlanName } from '../../src/collective/plan/plan.js';
import type { CollectiveTask, Communicator, ReplicaState } from '../../src/collective/task.js';
import type { Connection, Transport } from '../../src/transport/transport.js';
import type { Peer } from '../../src/wire/messages.js';

export interface CollectiveMatrix {
  readonly collective: PlanName;
  readonly kernel: ReduceKernel['name'];
  readonly memberCounts: readonly number[];
  readonly lengths: readonly number[];
}

interface Member {
  readonly peer: Peer;
  readonly communicator: Communicator;
  input: Float32Array;
  output: Float32Array;
  readonly scratch: Float32Array;
  state: ReplicaState | null;
}

const WASM = new URL('../../dist/collective/kernel/kernels.wasm', import.meta.url);

/** A signal that never fires. */
const NEVER = new AbortController().signal;
// All members of a test listen to it.
setMaxListeners(0, NEVER);

const SEGMENT_BYTES = 16 * 1024;
/** Half a unit in the last place of 1. */
const FLOAT32_ROUNDING = 2 ** -24;
const SMALLEST_FLOAT32 = 2 ** -149;

let members: Member[] = [];
let kernelName: ReduceKernel['name'] = 'plain';
let collective: PlanName = 'direct';

afterEach(async () => {
  await Promise.all(members.map((member) => member.communicator.close()));
  members = [];
});

async function startMembers(transport: Transport, count: number, length: number, seed = 1): Promise<Member[]> {
  const random = createRandom(seed);
  for (let worker = 0; worker < count; worker += 1) {
    const slot: { state: ReplicaState | null } = { state: null };
    const memory = createVectorMemory(length);
    const kernel = kernelName === 'plain' ? plainKernel : await memory.loadKernel(WASM);
    expect(kernel.name).toBe(kernelName);
    const communicator = await createCommunicator(
      { listen: { host: '127.0.0.1', port: 0 }, segmentBytes: SEGMENT_BYTES, serve: () => slot.state, kernel },
      { transport },
    );
    communicator.setIdentity({ role: 'worker', worker, incarnation: 1, runKey: 'key' });
    const { input, output, scratch } = memory;
    for (let i = 0; i < length; i += 1) input[i] = random.normal();
    const peer = { worker, incarnation: 1, address: communicator.address };
    members.push(Object.assign(slot, { peer, communicator, input, output, scratch }));
  }
  return members;
}

function taskOf(
  group: number,
  chosen: readonly Member[],
  rank: number,
  weights: readonly number[],
  signal = NEVER,
): CollectiveTask {
  const member = chosen[rank] as Member;
  return {
    group: groupId(1, group),
    collective,
    members: chosen.map((each) => each.peer),
    rank,
    weights,
    input: member.input,
    output: member.output,
    scratch: member.scratch,
    signal,
  };
}

async function reduceAll(group: number, chosen: readonly Member[], weights: readonly number[]): Promise<void> {
  await Promise.all(chosen.map((member, rank) => member.communicator.reduce(taskOf(group, chosen, rank, weights))));
}

/** As the controller would: once one member has failed, the others are told to give up. Gives the first error, or null. */
async function reduceOrGiveUp(group: number, chosen: readonly Member[], abort: AbortController): Promise<unknown> {
  let failure: unknown = null;
  const weights = equalWeights(chosen.length);
  const attempts = chosen.map((member, rank) =>
    member.communicator.reduce(taskOf(group, chosen, rank, weights, abort.signal)).catch((error: unknown) => {
      failure ??= error;
      abort.abort();
    }),
  );
  await Promise.all(attempts);
  return failure;
}

/** As `transport`, and keeps every connection that was dialled through it, with the port. */
function recordDials(transport: Transport): {
  transport: Transport;
  dialled: { port: number; connection: Connection }[];
} {
  const dialled: { port: number; connection: Connection }[] = [];
  return {
    dialled,
    transport: {
      listen: (...given) => transport.listen(...given),
      async dial(address, ...rest) {
        const connection = await transport.dial(address, ...rest);
        dialled.push({ port: address.port, connection });
        return connection;
      },
    },
  };
}

function turnsOfTheLoop(count: number): Promise<void> {
  return count === 0
    ? Promise.resolve()
    : new Promise((resolve) => setImmediate(() => resolve(turnsOfTheLoop(count - 1))));
}

/** The weighted sum in float64; members of weight 0 are skipped. */
function reference(chosen: readonly Member[], weights: readonly number[]): Float64Array {
  const length = (chosen[0] as Member).input.length;
  return Float64Array.from({ length }, (_, i) =>
    chosen.reduce(
      (sum, member, j) => (weights[j] === 0 ? sum : sum + (weights[j] as number) * (member.input[i] as number)),
      0,
    ),
  );
}

/** As `toEqual`, which takes a second for a large array. */
function haveSameBits(a: Float32Array, b: Float32Array): boolean {
  const bits = (vector: Float32Array): Buffer =>
    Buffer.from(vector.buffer as ArrayBuffer, vector.byteOffset, vector.byteLength);
  return Buffer.compare(bits(a), bits(b)) === 0;
}

/** Every member holds the same bits, as near to the reference as float32 sums of that many members can be. */
function expectAverage(chosen: readonly Member[], weights: readonly number[]): void {
  const expected = reference(chosen, weights);
  const first = (chosen[0] as Member).output;
  let worst = 0;
  expected.forEach((value, i) => {
    // Each member adds a rounding of the sum; its own term has one of the weight and one of the product.
    const terms = chosen.reduce(
      (sum, member, j) =>
        weights[j] === 0 ? sum : sum + Math.abs((weights[j] as number) * (member.input[i] as number)),
      0,
    );
    const error =
      Math.abs(value - (first[i] as number)) / ((chosen.length + 1) * FLOAT32_ROUNDING * terms + SMALLEST_FLOAT32);
    // NaN compares false with everything, so it is counted by hand.
    worst = Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(worst, error);
  });
  expect(worst).toBeLessThanOrEqual(1);
  for (const member of chosen) expect(haveSameBits(member.output, first)).toBe(true);
}

function equalWeights(count: number): number[] {
  return Array.from({ length: count }, () => 1 / count);
}

/** The suite of collectives, by one plan. */
export function describeCollectives(name: string, createTransport: () => Transport, matrix: CollectiveMatrix): void {
  describe(`${matrix.collective} collectives on ${name}`, () => {
    beforeEach(() => {
      kernelName = matrix.kernel;
      collective = matrix.collective;
    });

    const cases = matrix.memberCounts.flatMap((count) => matrix.lengths.map((length) => ({ count, length })));
    it.each(cases)('$count members average $length values, bit-identical', async ({ count, length }) => {
      const chosen = await startMembers(createTransport(), count, length, count * 31 + length);
      const random = createRandom(length);
      const raw = Array.from({ length: count }, () => random.next());
      const total = raw.reduce((sum, value) => sum + value, 0);
      const weights = raw.map((value) => value / total);
      await reduceAll(1, chosen, weights);
      expectAverage(chosen, weights);
    });

    it('sends 2 (n - 1) / n of the vector per member', async () => {
      const chosen = await startMembers(createTransport(), 4, 4000);
      const results = await Promise.all(
        chosen.map((member, rank) => member.communicator.reduce(taskOf(1, chosen, rank, equalWeights(4)))),
      );
      for (const result of results) expect(result).toEqual({ bytesSent: 24_000, bytesReceived: 24_000, clipped: [] });
    });

    it.each([
      ['NaN in the middle', Number.NaN, [0.25, 0, 0.75]],
      ['infinities at the start', Number.POSITIVE_INFINITY, [0, 0.5, 0.5]],
      ['NaN at the end', Number.NaN, [0.125, 0.875, 0]],
      ['all but one', Number.NEGATIVE_INFINITY, [0, 1, 0]],
      ['neighbours', Number.NaN, [0.5, 0, 0, 0, 0.5]],
    ])('skips members of weight 0 whatever their values: %s', async (_what, value, weights) => {
      const chosen = await startMembers(createTransport(), weights.length, 1000);
      weights.forEach((weight, rank) => weight === 0 && (chosen[rank] as Member).input.fill(value));
      await reduceAll(1, chosen, weights);
      expectAverage(chosen, weights);
    });

    it('runs groups of changing members one after another', async () => {
      const all = await startMembers(createTransport(), 5, 3000);
      const groups = [
        [0, 1],
        [1, 2, 3],
        [4, 0],
        [3, 4, 2, 1, 0],
        [2, 0],
      ];
      for (const [index, group] of groups.entries()) {
        const chosen = group.map((worker) => all[worker] as Member);
        const weights = equalWeights(chosen.length);
        await reduceAll(index + 1, chosen, weights);
        expectAverage(chosen, weights);
      }
    });

    it('runs disjoint groups at the same time', async () => {
      const all = await startMembers(createTransport(), 4, 50_000);
      const [a, b] = [all.slice(0, 2), all.slice(2)];
      await Promise.all([reduceAll(1, a, [0.5, 0.5]), reduceAll(2, b, [0.5, 0.5])]);
      expectAverage(a, [0.5, 0.5]);
      expectAverage(b, [0.5, 0.5]);
    });

    it.each([2, 3])('keeps what comes before the group is known to the last of %i', async (count) => {
      const chosen = await startMembers(createTransport(), count, 600_000);
      const weights = equalWeights(count);
      const last = chosen[count - 1] as Member;
      const first = chosen[0] as Member;
      const early = chosen
        .slice(0, -1)
        .map((member, rank) => member.communicator.reduce(taskOf(1, chosen, rank, weights)));
      // One state transfer later the others' segments have long been on their way.
      last.state = { k: 3, values: last.input };
      await first.communicator.fetchState(last.peer, new Float32Array(600_000), { signal: NEVER });
      await Promise.all([...early, last.communicator.reduce(taskOf(1, chosen, count - 1, weights))]);
      expectAverage(chosen, weights);
    });

    it('gives up on the signal, leaves the input alone, and takes part in the next group', async () => {
      const chosen = await startMembers(createTransport(), 3, 300_000);
      const [first, second] = chosen as [Member, Member, Member];
      const before = first.input.slice();
      const abort = [new AbortController(), new AbortController()] as const;
      const attempts = [first, second].map((member, rank) =>
        member.communicator.reduce(taskOf(1, chosen, rank, equalWeights(3), (abort[rank] as AbortController).signal)),
      );
      // The third member never hears of the group; the others give up.
      const outcomes = Promise.allSettled(attempts);
      for (const each of abort) each.abort();
      for (const outcome of await outcomes) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'aborted' } });
      }
      (chosen[2] as Member).communicator.discard(groupId(1, 1));
      expect(haveSameBits(first.input, before)).toBe(true);
      await reduceAll(2, chosen, equalWeights(3));
      expectAverage(chosen, equalWeights(3));
    });

    it('survives aborts at any moment', async () => {
      const chosen = await startMembers(createTransport(), 4, 60_000);
      const random = createRandom(5);
      for (let round = 0; round < 20; round += 1) {
        const abort = new AbortController();
        const attempt = reduceOrGiveUp(10 * round + 1, chosen, abort);
        await turnsOfTheLoop(random.below(12));
        abort.abort();
        await attempt;
        // Who gave up in the middle of a segment has dropped the connection, which the other may learn in the next group only.
        for (let retry = 1; ; retry += 1) {
          const failure = await reduceOrGiveUp(10 * round + 1 + retry, chosen, new AbortController());
          if (failure === null) break;
          expect(failure).toMatchObject({ code: 'connection-lost' });
          expect(retry).toBeLessThan(4);
        }
        expectAverage(chosen, equalWeights(4));
      }
    });

    it('goes on without a member that dies at any moment', async () => {
      for (const turns of [0, 2, 5, 9]) {
        const chosen = await startMembers(createTransport(), 5, 100_000);
        expect(await reduceOrGiveUp(1, chosen, new AbortController())).toBe(null);
        const inputs = chosen.map(({ input }) => input.slice());
        const abort = new AbortController();
        const attempt = reduceOrGiveUp(2, chosen, abort);
        await turnsOfTheLoop(turns);
        await (chosen[2] as Member).communicator.close();
        abort.abort();
        await attempt;
        chosen.forEach(({ input }, rank) => expect(haveSameBits(input, inputs[rank] as Float32Array)).toBe(true));
        const survivors = chosen.filter((_, rank) => rank !== 2);
        let group = 3;
        for (; (await reduceOrGiveUp(group, survivors, new AbortController())) !== null; group += 1) {
          expect(group).toBeLessThan(7);
        }
        expectAverage(survivors, equalWeights(4));
        await Promise.all(chosen.map((member) => member.communicator.close()));
        members = [];
      }
    });

    it('connects only the members that exchange something', async () => {
      const { transport, dialled } = recordDials(createTransport());
      const chosen = await startMembers(transport, 5, 1000);
      await reduceAll(1, chosen, equalWeights(5));
      expectAverage(chosen, equalWeights(5));
      const peersOfEach = collective === 'ring' ? 2 : 4;
      expect(dialled.length).toBe(5 * peersOfEach);
      await reduceAll(2, chosen, equalWeights(5));
      expect(dialled.length).toBe(5 * peersOfEach);
    });

    it('loses a collective only with a connection that it uses', async () => {
      const { transport, dialled } = recordDials(createTransport());
      const chosen = await startMembers(transport, 4, 400_000);
      const [first, , third] = chosen as [Member, Member, Member, Member];
      await reduceAll(1, [first, third], [0.5, 0.5]);
      const between = dialled[0]?.connection as Connection;
      const attempt = reduceOrGiveUp(2, chosen, new AbortController());
      await turnsOfTheLoop(3);
      between.destroy(new PreduceError('connection-lost', 'cut by the test'));
      const failure = await attempt;
      const code = failure instanceof PreduceError ? failure.code : failure;
      expect(code).toBe(collective === 'ring' ? null : 'connection-lost');
    });

    it('fails with the lost member named when one dies', async () => {
      const chosen = await startMembers(createTransport(), 2, 600_000);
      const [first, second] = chosen as [Member, Member];
      await reduceAll(1, chosen, [0.5, 0.5]);
      const attempt = first.communicator.reduce(taskOf(2, chosen, 0, [0.5, 0.5]));
      attempt.catch(() => undefined);
      await second.communicator.close();
      await expect(attempt).rejects.toMatchObject({ code: 'connection-lost', details: { worker: 1 } });
    });

    it('names the member that cannot be reached', async () => {
      const chosen = await startMembers(createTransport(), 2, 10);
      const [first, second] = chosen as [Member, Member];
      await second.communicator.close();
      await expect(first.communicator.reduce(taskOf(1, chosen, 0, [0.5, 0.5]))).rejects.toMatchObject({
        code: 'connection-lost',
        details: { worker: 1 },
      });
    });
  });
}

/** The suite of state transfers. */
export function describeTransfers(name: string, createTransport: () => Transport): void {
  describe(`state transfers on ${name}`, () => {
    beforeEach(() => {
      kernelName = 'plain';
      collective = 'direct';
    });

    it('hands its replica to several at once, as it was when they asked', async () => {
      const [donor, ...joiners] = (await startMembers(createTransport(), 4, 100_000)) as [Member, ...Member[]];
      donor.state = { k: 42, values: donor.input };
      const expected = donor.input.slice();
      const signal = new AbortController().signal;
      const results = await Promise.all(
        joiners.map((joiner) => joiner.communicator.fetchState(donor.peer, joiner.output, { signal })),
      );
      for (const result of results) expect(result).toEqual({ k: 42 });
      for (const joiner of joiners) expect(haveSameBits(joiner.output, expected)).toBe(true);
    });

    it('gives a transfer up on the signal, at any moment', async () => {
      const [donor, joiner] = (await startMembers(createTransport(), 2, 500_000)) as [Member, Member];
      donor.state = { k: 1, values: donor.input };
      const codes: string[] = [];
      for (let turns = 0; turns < 10; turns += 1) {
        const abort = new AbortController();
        const fetch = joiner.communicator.fetchState(donor.peer, joiner.output, { signal: abort.signal });
        const outcome = fetch.catch((error: unknown) => error);
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        abort.abort();
        const ended = await outcome;
        codes.push(ended instanceof PreduceError ? ended.code : 'complete');
      }
      // The last ones may be through by then.
      expect(codes[0]).toBe('aborted');
      expect(codes.filter((code) => code !== 'aborted' && code !== 'complete')).toEqual([]);
    });

    it('drops a member whose early segments are bad, and says who it was', async () => {
      const transport = createTransport();
      const [stranger, member] = (await startMembers(transport, 2, 100)) as [Member, Member];
      const lower = { sender: 0, incarnation: 1, group: groupId(1, 1), offset: 0 };
      const connection = await dialAdmitted(transport, {
        peer: member.peer,
        identity: { role: 'worker', worker: 0, incarnation: 1, runKey: 'key' },
        part: PURPOSES.collectives,
        open: () => ({ onFrame: () => undefined, onClose: () => undefined }),
        signal: new AbortController().signal,
      });
      await connection.send({ ...lower, type: 'segment-gather', part: 1, payload: new Uint8Array(8) });
      const probe = stranger.communicator.fetchState(member.peer, stranger.output, {
        signal: new AbortController().signal,
      });
      await expect(probe).rejects.toMatchObject({ code: 'refused' });
      await expect(member.communicator.reduce(taskOf(1, [stranger, member], 1, [0.5, 0.5]))).rejects.toMatchObject({
        code: 'connection-lost',
        details: { worker: 0 },
      });
    });

    it('says so when there is no replica, and when it has another length', async () => {
      const [donor, joiner] = (await startMembers(createTransport(), 2, 100)) as [Member, Member];
      const signal = new AbortController().signal;
      const fetch = (length: number): Promise<unknown> =>
        joiner.communicator.fetchState(donor.peer, new Float32Array(length), { signal });
      await expect(fetch(100)).rejects.toMatchObject({ code: 'refused' });
      donor.state = { k: 1, values: donor.input };
      await expect(fetch(99)).rejects.toMatchObject({ code: 'bad-frame' });
      await expect(fetch(101)).rejects.toMatchObject({ code: 'bad-frame' });
    });

    it('lets nobody in without the key of the run', async () => {
      const [donor, stranger] = (await startMembers(createTransport(), 2, 100)) as [Member, Member];
      donor.state = { k: 1, values: donor.input };
      stranger.communicator.setIdentity({ role: 'worker', worker: 1, incarnation: 1, runKey: 'another' });
      const fetch = stranger.communicator.fetchState(donor.peer, stranger.output, {
        signal: new AbortController().signal,
      });
      await expect(fetch).rejects.toMatchObject({
        code: 'bad-frame',
        message: expect.stringContaining("a proof of this run's key") as string,
      });
    });
  });
}
