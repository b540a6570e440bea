/**
 * A member that is there and moves nothing: from the beginning, or from some frame on.
 */
import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { groupId } from '../base/ids.js';
import { createTcpTransport } from '../transport/tcp.js';
import { createMemoryTransport } from '../transport/memory.js';
import type { Connection, ConnectionHandlers, Transport } from '../transport/transport.js';
import { createCommunicator } from './communicator.js';
import type { PlanName } from './plan/plan.js';

const LENGTH = 60_000;
const SEGMENT_BYTES = 4096;
/** Ten ticks of it must be longer than any pause of a member that is well, on a busy machine too. */
const STALL_MS = 800;

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);

/** As `transport`; what it sends after so many segments and acknowledgements stays where it is, and is never taken. */
function fallSilent(transport: Transport, after: number): Transport {
  let left = after;
  function muted(connection: Connection): Connection {
    return {
      ...connection,
      get bytesReceived() {
        return connection.bytesReceived;
      },
      send(frame) {
        if (frame.type === 'ack' || frame.type.includes('segment')) {
          if (left === 0) return new Promise(() => undefined);
          left -= 1;
        }
        return connection.send(frame);
      },
    };
  }
  const wrap = (handlers: (connection: Connection) => ConnectionHandlers) => (connection: Connection) =>
    handlers(muted(connection));
  return {
    listen: (address, accept) => transport.listen(address, wrap(accept)),
    dial: async (address, handlers, options) => muted(await transport.dial(address, wrap(handlers), options)),
  };
}

/** Worker numbers that members 0 to n - 2 accuse; the last member sends so many frames only. Null: nobody. */
async function accusations(transport: Transport, count: number, frames: number, collective: PlanName) {
  const members = await Promise.all(
    Array.from({ length: count }, async (_, worker) => {
      const isSilent = worker === count - 1;
      const communicator = await createCommunicator(
        {
          listen: { host: '127.0.0.1', port: 0 },
          segmentBytes: SEGMENT_BYTES,
          serve: () => null,
          ...(isSilent ? {} : { stallMs: STALL_MS }),
        },
        { transport: isSilent ? fallSilent(transport, frames) : transport },
      );
      communicator.setIdentity({ role: 'worker', worker, incarnation: 1, runKey: 'key' });
      return { communicator, peer: { worker, incarnation: 1, address: communicator.address } };
    }),
  );
  const accused: (number | null)[] = [];
  const abort = new AbortController();
  await Promise.all(
    members.map(async ({ communicator }, rank) => {
      const task = communicator.reduce({
        group: groupId(1, 1),
        collective,
        members: members.map(({ peer }) => peer),
        rank,
        weights: members.map(() => 1 / count),
        input: new Float32Array(LENGTH).fill(rank),
        output: new Float32Array(LENGTH),
        signal: abort.signal,
      });
      // As the controller would: the first accusation ends the group.
      await task.catch((error: { code: string; details: { worker: number } }) => {
        if (error.code === 'timeout') accused.push(error.details.worker);
        abort.abort();
      });
    }),
  );
  await Promise.all(members.map(({ communicator }) => communicator.close()));
  return accused;
}

/** Frames of one member in a collective of three: 20 a part to each of two, in two rounds, and two acknowledgements. */
const FRAMES_OF_THREE = 82;

describe.concurrent('a member that moves nothing', () => {
  it.each([0, 1, 7, 39, 45, 79, 80, 81])(
    'is the one who is accused, after %i of its frames: direct',
    async (frames) => {
      expect((await accusations(createMemoryTransport(), 3, frames, 'direct'))[0]).toBe(2);
    },
  );

  it.each([0, 30])('is the one who is accused, after %i of its frames: ring', async (frames) => {
    expect((await accusations(createMemoryTransport(), 4, frames, 'ring'))[0]).toBe(3);
  });

  it('is found on sockets too', async () => {
    expect((await accusations(createTcpTransport(), 2, 5, 'direct'))[0]).toBe(1);
  });

  it('is nobody where everybody sends all it owes', async () => {
    expect(await accusations(createMemoryTransport(), 3, FRAMES_OF_THREE, 'direct')).toEqual([]);
  });

  it('does not keep a joiner for ever', async () => {
    const memory = createMemoryTransport();
    const options = { listen: { host: '127.0.0.1', port: 0 }, stallMs: STALL_MS };
    const state = { k: 3, values: new Float32Array(LENGTH) };
    const joiner = await createCommunicator({ ...options, serve: () => null }, { transport: memory });
    const donor = await createCommunicator(
      { ...options, segmentBytes: SEGMENT_BYTES, serve: () => state },
      { transport: fallSilent(memory, 3) },
    );
    for (const [worker, each] of [joiner, donor].entries()) {
      each.setIdentity({ role: 'worker', worker, incarnation: 1, runKey: 'key' });
    }
    const peer = { worker: 1, incarnation: 1, address: donor.address };
    await expect(joiner.fetchState(peer, new Float32Array(LENGTH), { signal: NEVER })).rejects.toMatchObject({
      code: 'timeout',
    });
    await Promise.all([joiner.close(), donor.close()]);
  });
});
