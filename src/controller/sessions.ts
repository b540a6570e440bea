/**
 * The control connections of a run, and which of them is which worker.
 */
import { assertPresent } from '../base/assert.js';
import type { WorkerId } from '../base/ids.js';
import type { Life } from '../core/events.js';
import type { Address, ControllerMessage, Peer, WorkerMessage } from '../wire/messages.js';
import type { ControlPeer } from './control-server.js';
import { type ReplicaShape, replicaShape } from './handshake.js';
import type { ServerSession } from './servers.js';

type Join = Extract<WorkerMessage, { type: 'join' }>;
type Resume = Extract<WorkerMessage, { type: 'resume' }>;

/** One control connection. */
export interface Session {
  readonly peer: ControlPeer;
  /** Its number among all connections of this controller. */
  readonly ticket: number;
  state: 'new' | 'greeted' | 'joining' | 'worker' | 'evaluator' | 'server' | 'closed';
  /** Set from `server` on. */
  server: ServerSession | null;
  join: Join | null;
  /** Set instead where a life is back. */
  resume: Resume | null;
  /** Set from `worker` on. */
  life: Life | null;
  /** Who was to hand it the model; null: its own initial one. */
  donor: WorkerId | null;
  lastHeardMs: number;
  suspected: boolean;
}

export interface Sessions {
  open(peer: ControlPeer): Session;
  /** Its connection is closed. */
  remove(session: Session): void;
  find(ticket: number): Session | undefined;
  /** Open connections. */
  all(): readonly Session[];
  /** Numbers of the workers that were not let go, ascending. */
  readonly workers: readonly WorkerId[];
  /** Connections that are neither worker nor evaluator yet. */
  readonly waitingCount: number;
  /** Worker numbers given out so far, those of the dead included. */
  readonly numberCount: number;
  /** What the run's first worker brought; null before. */
  readonly shape: ReplicaShape | null;
  /** The connection is this life of a worker from now on. */
  admit(ticket: number, life: Life): Session & { readonly join: Join };
  /** The same where the life is back on this connection; the one that it had is closed. */
  takeBack(ticket: number, life: Life): Session & { readonly resume: Resume };
  of(life: Life): Session | null;
  addressOf(worker: WorkerId): Address;
  /** Those of the workers that can be reached. */
  peersOf(workers: readonly WorkerId[]): Peer[];
  /** Without effect where this life is over. */
  send(life: Life, message: ControllerMessage): void;
  /** Says farewell and closes. Without effect where this life is over. */
  release(life: Life, farewell: ControllerMessage): void;
}

/** What sessions go on from where a controller is started again. */
export interface FormerSessions {
  readonly numbers: Iterable<WorkerId>;
  readonly shape: ReplicaShape | null;
}

export function createSessions(former: FormerSessions = { numbers: [], shape: null }): Sessions {
  const sessions = new Map<number, Session>();
  const byWorker = new Map<WorkerId, Session>();
  const numbers = new Set<WorkerId>(former.numbers);
  let ticketCount = 0;
  let { shape } = former;

  function of(life: Life): Session | null {
    const session = byWorker.get(life.worker);
    return session?.life?.incarnation === life.incarnation ? session : null;
  }

  return {
    open(peer) {
      const session = newSession(peer, ticketCount);
      ticketCount += 1;
      sessions.set(session.ticket, session);
      return session;
    },
    remove: (session) => void sessions.delete(session.ticket),
    find: (ticket) => sessions.get(ticket),
    all: () => [...sessions.values()],
    get workers() {
      return [...byWorker.keys()].toSorted((a, b) => a - b);
    },
    get waitingCount() {
      return this.all().filter(({ state }) => state === 'new' || state === 'greeted').length;
    },
    get numberCount() {
      return numbers.size;
    },
    get shape() {
      return shape;
    },
    admit(ticket, life) {
      const session = assertPresent(sessions.get(ticket), `connection ${ticket}`);
      const join = assertPresent(session.join, 'the join message');
      byWorker.set(life.worker, session);
      numbers.add(life.worker);
      shape ??= replicaShape(join);
      return Object.assign(session, { state: 'worker' as const, life, join });
    },
    takeBack(ticket, life) {
      const session = assertPresent(sessions.get(ticket), `connection ${ticket}`);
      const resume = assertPresent(session.resume, 'the resume message');
      const before = of(life);
      if (before !== null) {
        before.state = 'closed';
        before.life = null;
        before.peer.close();
      }
      byWorker.set(life.worker, session);
      return Object.assign(session, { state: 'worker' as const, life, resume });
    },
    of,
    addressOf: (worker) => assertPresent(addressOf(byWorker.get(worker)), `the address of worker ${worker}`),
    peersOf: (workers) =>
      workers.flatMap((worker) => {
        const session = byWorker.get(worker);
        const address = addressOf(session);
        if (session?.life == null || address === null) return [];
        return [{ worker, incarnation: session.life.incarnation, address }];
      }),
    send: (life, message) => of(life)?.peer.send(message),
    release(life, farewell) {
      const session = of(life);
      if (session === null) return;
      session.peer.send(farewell);
      session.peer.close();
      session.state = 'closed';
      byWorker.delete(life.worker);
    },
  };
}

/** Where its worker listens, as it said last. */
function addressOf(session: Session | undefined): Address | null {
  return (session?.resume ?? session?.join)?.address ?? null;
}

function newSession(peer: ControlPeer, ticket: number): Session {
  return {
    peer,
    ticket,
    state: 'new',
    server: null,
    join: null,
    resume: null,
    life: null,
    donor: null,
    lastHeardMs: performance.now(),
    suspected: false,
  };
}
