/**
 * The data plane of one worker: its port, its links to the other members, the collective that runs, and the replicas
 * that it hands to joiners.
 */
import { setMaxListeners } from 'node:events';
import { assert, assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import type { Connection, ConnectionHandlers, Transport } from '../transport/transport.js';
import type { Frame } from '../wire/frame.js';
import { LIMITS } from '../wire/limits.js';
import { createGate, PURPOSES, senderOf } from './admission.js';
import { plainKernel } from './kernel/plain-kernel.js';
import { createLinks, type Link } from './links.js';
import { createPlanCollective, lostMember, type PlanCollective, stalledMember } from './plan-collective.js';
import { createPatience, createProgressWatch, TICKS_PER_TIMEOUT } from './progress-watch.js';
import { fetchState, sendState } from './state-transfer.js';
import type { CollectiveResult, CollectiveTask, Communicator, CommunicatorOptions, Identity } from './task.js';

export interface CommunicatorDependencies {
  readonly transport: Transport;
}

interface Running {
  readonly task: CollectiveTask;
  readonly collective: PlanCollective;
  fail(error: Error): void;
}

/** Opens the data port. Throws `port-unavailable`. */
export async function createCommunicator(
  options: CommunicatorOptions,
  { transport }: CommunicatorDependencies,
): Promise<Communicator> {
  const segmentBytes = options.segmentBytes ?? LIMITS.segmentBytes;
  const kernel = options.kernel ?? plainKernel;
  let identity: Identity | null = null;
  let running: Running | null = null;
  const patience = createPatience();
  const inbound = new Set<Connection>();

  const links = createLinks(transport, {
    onFrame(worker, frame) {
      if (running === null) return;
      const rank = running.task.members.findIndex((member) => member.worker === worker);
      if (rank < 0)
        throw new PreduceError('bad-frame', `expected segments of the group's members, got some of worker ${worker}`);
      running.collective.onFrame(rank, frame);
    },
    place(worker, header) {
      const rank = running?.task.members.findIndex((member) => member.worker === worker) ?? -1;
      return rank < 0 ? null : (running?.collective.place(rank, header) ?? null);
    },
    onLost(worker, reason) {
      // A member that this one exchanges nothing with may be lost to it and not to the others.
      const isPeer = running?.collective.peers.some((rank) => running?.task.members[rank]?.worker === worker);
      if (isPeer === true) running?.fail(lostMember(worker, reason));
    },
  });

  const gate = createGate({
    identity: () => identity,
    admit(connection, { worker, incarnation, part }) {
      if (part !== PURPOSES.transfer) return links.adopt(connection, worker, incarnation);
      return { onFrame: (frame) => serve(connection, frame), onClose: () => undefined };
    },
  });

  function accept(connection: Connection): ConnectionHandlers {
    inbound.add(connection);
    const handlers = gate(connection);
    return {
      ...handlers,
      onClose(reason) {
        inbound.delete(connection);
        handlers.onClose(reason);
      },
    };
  }

  function serve(connection: Connection, frame: Frame): void {
    if (frame.type !== 'state-request') {
      throw new PreduceError('bad-frame', `expected a state-request, got ${frame.type}`);
    }
    const from = senderOf(assertPresent(identity, 'an identity'));
    // A requester that goes away is its own business.
    sendState(connection, options.serve(), from, segmentBytes).catch(() => undefined);
  }

  async function reduce(task: CollectiveTask): Promise<CollectiveResult> {
    assert(running === null, 'one collective at a time');
    assert(identity?.role === 'worker', 'a collective needs the identity of a worker');
    assert(task.input.length === task.output.length, 'input and output have one length');
    const self = identity;
    const collective = createPlanCollective(task, segmentBytes, kernel);
    // Dials and waits end with the collective, whatever ends it.
    const dialling = new AbortController();
    // Each member that is dialled or awaited listens; Node warns from the eleventh listener on.
    setMaxListeners(0, dialling.signal);
    let failure: Error | null = null;
    function fail(error: Error): void {
      failure ??= error;
      collective.fail(error);
      dialling.abort();
    }
    const abort = (): void =>
      fail(new PreduceError('aborted', 'the collective was given up', { cause: task.signal.reason }));
    task.signal.addEventListener('abort', abort);
    if (task.signal.aborted) abort();
    running = { task, collective, fail };
    const connected = new Map<number, Link>();
    const watch = createProgressWatch(patience.ticks);
    const ticking = watchStalls();
    try {
      links.open(task.group);
      await Promise.all(collective.peers.map(connect));
      const result = await collective.run(connected);
      patience.ended(watch.longestPause);
      return result;
    } catch (error) {
      // What is still on its way would end in vectors that are the caller's again, or be read from them.
      for (const rank of collective.peers) {
        if (!collective.isMoving(rank)) continue;
        links.drop(workerAt(rank), new PreduceError('aborted', 'the collective was given up'));
      }
      throw failure ?? error;
    } finally {
      clearInterval(ticking);
      dialling.abort();
      task.signal.removeEventListener('abort', abort);
      links.shut();
      running = null;
    }

    function workerAt(rank: number): number {
      return assertPresent(task.members[rank], 'a member').worker;
    }

    function watchStalls(): NodeJS.Timeout | undefined {
      if (options.stallMs === undefined) return undefined;
      return setInterval(() => {
        const stalled = watch.tick(
          collective.peers.map((rank) => ({
            rank,
            bytes: links.bytesReceived(workerAt(rank)) + collective.sentTo(rank),
            lateness: connected.has(rank) ? collective.latenessOf(rank) : 0,
          })),
        );
        if (stalled !== null) giveUpOn(workerAt(stalled));
      }, options.stallMs / TICKS_PER_TIMEOUT);
    }

    /** A connection that is stuck, and not its other end, is made anew for the next group. */
    function giveUpOn(worker: number): void {
      patience.stalled();
      const pauseMs = Math.round((watch.longestPause * (options.stallMs ?? 0)) / TICKS_PER_TIMEOUT);
      const error = stalledMember(worker, pauseMs);
      fail(error);
      links.drop(worker, error);
    }

    async function connect(rank: number): Promise<void> {
      const peer = assertPresent(task.members[rank], 'a member');
      try {
        connected.set(rank, await links.get(peer, self, dialling.signal));
      } catch (error) {
        if (dialling.signal.aborted) throw error;
        throw new PreduceError('connection-lost', `could not reach worker ${peer.worker} for a collective`, {
          details: { worker: peer.worker },
          cause: error,
        });
      }
    }
  }

  const listener = await transport.listen(options.listen, accept);
  return {
    address: listener.address,
    setIdentity(value) {
      identity = value;
      transport.setKey?.(value.runKey);
    },
    reduce,
    discard: (group) => links.discard(group),
    fetchState: (peer, into, { signal }) =>
      fetchState(transport, peer, into, {
        identity: assertPresent(identity, 'an identity'),
        signal,
        ...(options.stallMs === undefined ? {} : { stallMs: options.stallMs }),
      }),
    async close() {
      links.close();
      for (const connection of inbound) connection.destroy(new PreduceError('aborted', 'this worker is closing'));
      await listener.close();
    },
  };
}
