/**
 * Connections to the other members: one per pair, shared by all their collectives. The worker with the lower number dials,
 * the other waits for it, so that a pair never has two. Segments of a group that this member has not heard of yet are
 * kept, within a limit; beyond it the connection stops reading.
 */
import { PreduceError } from '../base/errors.js';
import type { GroupId } from '../base/ids.js';
import type { Connection, ConnectionHandlers, Transport } from '../transport/transport.js';
import { type Frame, NO_PAYLOAD } from '../wire/frame.js';
import { LIMITS } from '../wire/limits.js';
import type { Peer } from '../wire/messages.js';
import type { Identity } from './task.js';

type WorkerIdentity = Extract<Identity, { role: 'worker' }>;

/** A connection to one life of one worker. */
export interface Link {
  readonly worker: number;
  readonly incarnation: number;
  send(frame: Omit<Frame, 'sender' | 'incarnation'>): Promise<void>;
}

export interface LinkHandlers {
  /** A frame of the group that runs. Throws `bad-frame` for one that does not belong there. */
  onFrame(worker: number, frame: Frame): void;
  /** The connection to this worker is gone. */
  onLost(worker: number, reason: Error | null): void;
}

export interface Links {
  /** The link to `peer`, dialled or awaited. Rejects with `connection-lost` or `aborted`. */
  get(peer: Peer, identity: WorkerIdentity, signal: AbortSignal): Promise<Link>;
  /** Takes an inbound connection whose `hello` was in order. */
  adopt(connection: Connection, worker: number, incarnation: number): ConnectionHandlers;
  /** From now on frames of this group go to the handlers, those that came early first. */
  open(group: GroupId): void;
  /** Frames of the open group are no longer wanted. */
  shut(): void;
  discard(group: GroupId): void;
  close(): void;
}

interface OpenLink extends Link {
  readonly connection: Connection;
  early: Frame[];
  earlyBytes: number;
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

  function keepEarly(link: OpenLink, frame: Frame): void {
    link.early.push({ ...frame, payload: frame.payload.slice() });
    link.earlyBytes += frame.payload.byteLength;
    if (link.earlyBytes > LIMITS.unclaimedBytesMax) link.connection.pause();
  }

  /** Hands on a frame that came early. As with one that comes in time, a bad one costs its sender the connection. */
  function claim(link: OpenLink, frame: Frame): void {
    try {
      handlers.onFrame(link.worker, frame);
    } catch (error) {
      if (!(error instanceof PreduceError)) throw error;
      link.connection.destroy(error);
    }
  }

  /** Handles what came early, as far as its group is known by now. */
  function sift(link: OpenLink): void {
    const kept = link.early;
    link.early = [];
    link.earlyBytes = 0;
    for (const frame of kept) {
      if (frame.group === opened) claim(link, frame);
      else if (!isOver(frame.group)) {
        link.early.push(frame);
        link.earlyBytes += frame.payload.byteLength;
      }
    }
    if (link.earlyBytes <= LIMITS.unclaimedBytesMax) link.connection.resume();
  }

  function adopt(connection: Connection, worker: number, incarnation: number): ConnectionHandlers {
    const link: OpenLink = {
      worker,
      incarnation,
      connection,
      early: [],
      earlyBytes: 0,
      send(frame) {
        return connection.send({ ...frame, sender: self?.worker ?? 0, incarnation: self?.incarnation ?? 0 });
      },
    };
    const former = links.get(worker);
    links.set(worker, link);
    former?.connection.destroy(new PreduceError('connection-lost', `worker ${worker} opened a new connection`));
    for (const wake of awaited.get(worker) ?? []) wake();
    return {
      onFrame(frame) {
        if (frame.group === opened) handlers.onFrame(worker, frame);
        else if (!isOver(frame.group)) keepEarly(link, frame);
      },
      onClose(reason) {
        if (links.get(worker) !== link) return;
        links.delete(worker);
        handlers.onLost(worker, reason);
      },
    };
  }

  async function dial(peer: Peer, identity: WorkerIdentity, signal: AbortSignal): Promise<void> {
    const connection = await transport.dial(peer.address, (open) => adopt(open, peer.worker, peer.incarnation), {
      signal,
    });
    await connection.send({
      type: 'hello',
      sender: identity.worker,
      incarnation: identity.incarnation,
      group: 0 as GroupId,
      part: 0,
      offset: 0,
      payload: new TextEncoder().encode(identity.runKey),
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
        const link = links.get(peer.worker);
        if (link?.incarnation === peer.incarnation) return link;
        // A connection to a former life: that process is gone, or is about to be.
        link?.connection.destroy(new PreduceError('connection-lost', `worker ${peer.worker} has a new life`));
        links.delete(peer.worker);
        if (identity.worker < peer.worker) await dial(peer, identity, signal);
        else await waitForDial(peer.worker, signal);
      }
    },
    adopt,
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
    close() {
      for (const link of links.values()) link.connection.destroy(new PreduceError('aborted', 'this worker is closing'));
    },
  };
}

/** A frame without payload. */
export function emptyFrame(type: Frame['type'], group: GroupId): Omit<Frame, 'sender' | 'incarnation'> {
  return { type, group, part: 0, offset: 0, payload: NO_PAYLOAD };
}
