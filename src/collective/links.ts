/**
 * Connections to the other members: two per pair, shared by all their collectives. Each end dials the other and receives its
 * segments on the connection that it dialled, because only a dialling socket reads straight to where the bytes belong; the
 * acknowledgements go back on the same one. Frames of a group that this member has not heard of yet are kept, within a
 * limit; beyond it the connection stops reading.
 */
import { PreduceError } from '../base/errors.js';
import type { GroupId } from '../base/ids.js';
import type { Connection, ConnectionHandlers, Transport } from '../transport/transport.js';
import { type Frame, FRAME_HEADER_BYTES, type FrameHeader, NO_PAYLOAD } from '../wire/frame.js';
import { LIMITS } from '../wire/limits.js';
import type { Peer } from '../wire/messages.js';
import { dialAdmitted, PURPOSES } from './admission.js';
import type { Identity } from './task.js';

type WorkerIdentity = Extract<Identity, { role: 'worker' }>;

/** The way to one life of one worker. */
export interface Link {
  readonly worker: number;
  readonly incarnation: number;
  /** Resolves when the payload may be reused. */
  send(frame: Omit<Frame, 'sender' | 'incarnation'>): Promise<void>;
}

export interface LinkHandlers {
  /** A frame of the group that runs begins; as `place` of a connection. */
  place(worker: number, header: FrameHeader): Uint8Array | null;
  /** A frame of the group that runs. Throws `bad-frame` for one that does not belong there. */
  onFrame(worker: number, frame: Frame): void;
  /** The link to this worker is gone. */
  onLost(worker: number, reason: Error | null): void;
}

export interface Links {
  /** The link to `peer`, both ways. Rejects with `connection-lost` or `aborted`. */
  get(peer: Peer, identity: WorkerIdentity, signal: AbortSignal): Promise<Link>;
  /** Takes an inbound connection that has proven itself. */
  adopt(connection: Connection, worker: number, incarnation: number): ConnectionHandlers;
  /** From now on frames of this group go to the handlers, those that came early first. */
  open(group: GroupId): void;
  /** Frames of the open group are no longer wanted. */
  shut(): void;
  discard(group: GroupId): void;
  /** Bytes that came on the connections that there are to this worker. */
  bytesReceived(worker: number): number;
  /** Drops the connections to this worker at once, with whatever is on its way. */
  drop(worker: number, reason: Error): void;
  close(): void;
}

/** One of a link's connections, with what came on it too early. */
interface Way {
  readonly connection: Connection;
  early: Frame[];
  earlyBytes: number;
}

interface OpenLink extends Link {
  destroy(reason: Error): void;
  /** Dialled here: segments come in on it, acknowledgements go out. */
  dialled: Way | null;
  /** Dialled by the other end: the reverse. */
  accepted: Way | null;
}

export function createLinks(transport: Transport, handlers: LinkHandlers): Links {
  const links = new Map<number, OpenLink>();
  const awaited = new Map<number, Set<() => void>>();
  const discarded = new Set<GroupId>();
  let opened: GroupId | null = null;
  /** Group ids ascend: whatever is not above the last one that this worker took part in is over. */
  let lastOpened = -1;
  let self: WorkerIdentity | null = null;

  function isOver(group: GroupId): boolean {
    return (group <= lastOpened && group !== opened) || discarded.has(group);
  }

  function sizeOf(frame: Frame): number {
    return FRAME_HEADER_BYTES + frame.payload.byteLength;
  }

  function keepEarly(way: Way, frame: Frame): void {
    way.early.push({ ...frame, payload: frame.payload.slice() });
    way.earlyBytes += sizeOf(frame);
    if (way.earlyBytes > LIMITS.unclaimedBytesMax) way.connection.pause();
  }

  /** Hands on a frame that came early. As with one that comes in time, a bad one costs its sender the connection. */
  function claim(worker: number, way: Way, frame: Frame): void {
    try {
      handlers.onFrame(worker, frame);
    } catch (error) {
      if (!(error instanceof PreduceError)) throw error;
      way.connection.destroy(error);
    }
  }

  /** Handles what came early, as far as its group is known by now. */
  function sift({ worker, dialled, accepted }: OpenLink): void {
    for (const way of [dialled, accepted]) {
      if (way === null) continue;
      const kept = way.early;
      way.early = [];
      way.earlyBytes = 0;
      for (const frame of kept) {
        if (frame.group === opened) claim(worker, way, frame);
        else if (!isOver(frame.group)) {
          way.early.push(frame);
          way.earlyBytes += sizeOf(frame);
        }
      }
      if (way.earlyBytes <= LIMITS.unclaimedBytesMax) way.connection.resume();
    }
  }

  /** The link to this life, made if it is new; a link to another life is over. */
  function linkOf(worker: number, incarnation: number): OpenLink {
    const known = links.get(worker);
    if (known?.incarnation === incarnation) return known;
    known?.destroy(new PreduceError('connection-lost', `worker ${worker} has a new life`));
    const link: OpenLink = {
      worker,
      incarnation,
      dialled: null,
      accepted: null,
      send(frame) {
        const way = frame.type === 'ack' ? link.dialled : link.accepted;
        if (way === null)
          return Promise.reject(new PreduceError('connection-lost', `no connection to worker ${worker}`));
        return way.connection.send({ ...frame, sender: self?.worker ?? 0, incarnation: self?.incarnation ?? 0 });
      },
      destroy(reason) {
        if (links.get(worker) === link) links.delete(worker);
        link.dialled?.connection.destroy(reason);
        link.accepted?.connection.destroy(reason);
        // Whoever waits for its dial tries again, and finds out whether it is there at all.
        for (const wake of awaited.get(worker) ?? []) wake();
      },
    };
    links.set(worker, link);
    return link;
  }

  function attach(
    side: 'dialled' | 'accepted',
    connection: Connection,
    worker: number,
    incarnation: number,
  ): ConnectionHandlers {
    const link = linkOf(worker, incarnation);
    const way: Way = { connection, early: [], earlyBytes: 0 };
    const former = link[side];
    link[side] = way;
    former?.connection.destroy(new PreduceError('connection-lost', `worker ${worker} opened a new connection`));
    for (const wake of awaited.get(worker) ?? []) wake();
    return {
      place: (header) => (header.group === opened ? handlers.place(worker, header) : null),
      onFrame(frame) {
        if (frame.group === opened) handlers.onFrame(worker, frame);
        else if (!isOver(frame.group)) keepEarly(way, frame);
      },
      onClose(reason) {
        if (links.get(worker) !== link || link[side] !== way) return;
        // With one way gone the other is of no use.
        link.destroy(reason ?? new PreduceError('connection-lost', `worker ${worker} closed its connection`));
        handlers.onLost(worker, reason);
      },
    };
  }

  async function dial(peer: Peer, identity: WorkerIdentity, signal: AbortSignal): Promise<void> {
    const { worker, incarnation } = peer;
    await dialAdmitted(transport, {
      peer,
      identity,
      part: PURPOSES.collectives,
      signal,
      open: (connection) => attach('dialled', connection, worker, incarnation),
    });
  }

  function waitForDial(worker: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = awaited.get(worker) ?? new Set();
      awaited.set(worker, waiting);
      const settle = (finish: () => void) => (): void => {
        waiting.delete(wake);
        if (waiting.size === 0) awaited.delete(worker);
        signal.removeEventListener('abort', abort);
        finish();
      };
      const wake = settle(resolve);
      const abort = settle(() =>
        reject(new PreduceError('aborted', `gave up waiting for worker ${worker} to connect`)),
      );
      waiting.add(wake);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort);
    });
  }

  return {
    async get(peer, identity, signal) {
      self = identity;
      for (;;) {
        const link = linkOf(peer.worker, peer.incarnation);
        if (link.dialled !== null && link.accepted !== null) return link;
        if (link.dialled === null) await dial(peer, identity, signal);
        else await waitForDial(peer.worker, signal);
      }
    },
    adopt(connection, worker, incarnation) {
      const known = links.get(worker);
      if (known !== undefined && known.incarnation > incarnation) {
        throw new PreduceError(
          'bad-frame',
          `expected worker ${worker} in its life ${known.incarnation}, got ${incarnation}`,
        );
      }
      return attach('accepted', connection, worker, incarnation);
    },
    open(group) {
      opened = group;
      lastOpened = group;
      for (const old of discarded) if (old <= group) discarded.delete(old);
      for (const link of links.values()) sift(link);
    },
    shut() {
      opened = null;
    },
    discard(group) {
      if (group > lastOpened) discarded.add(group);
      for (const link of links.values()) sift(link);
    },
    bytesReceived(worker) {
      const link = links.get(worker);
      return (link?.dialled?.connection.bytesReceived ?? 0) + (link?.accepted?.connection.bytesReceived ?? 0);
    },
    drop: (worker, reason) => links.get(worker)?.destroy(reason),
    close() {
      for (const link of links.values()) link.destroy(new PreduceError('aborted', 'this worker is closing'));
    },
  };
}

/** A frame without payload. */
export function emptyFrame(type: Frame['type'], group: GroupId): Omit<Frame, 'sender' | 'incarnation'> {
  return { type, group, part: 0, offset: 0, payload: NO_PAYLOAD };
}
