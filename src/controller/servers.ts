/**
 * The controller's dealings with parameter servers: who is which, how they come by the initial parameters, what they are told of
 * groups. Core knows of two facts only: all of them are ready, one of them is gone.
 */
import { assertPresent } from '../base/assert.js';
import type { WorkerId } from '../base/ids.js';
import type { UntimedEvent } from '../core/events.js';
import { LIMITS } from '../wire/limits.js';
import type { Address, ControllerMessage, Peer, WorkerMessage } from '../wire/messages.js';
import type { ControlPeer } from './control-server.js';
import type { ReplicaShape, Refusal } from './handshake.js';

export interface ServersDependencies {
  /** Servers that the run's strategy needs; 0: none. */
  readonly count: number;
  readonly livenessMs: number;
  readonly runKey: string;
  readonly shape: () => ReplicaShape | null;
  /** Those of the workers that can be reached. */
  readonly peersOf: (workers: readonly WorkerId[]) => readonly Peer[];
  readonly step: (event: UntimedEvent) => void;
  readonly onFault: (message: string) => void;
}

/** One server's connection, as the others see it. */
export interface ServerSession {
  onMessage(message: WorkerMessage): void;
  onClose(reason: string): void;
}

export interface Servers {
  /** Of the run; 0: its strategy has none. */
  readonly count: number;
  /** The reason to refuse one more, or null. */
  checkPlace(): Refusal | null;
  /** The reason to refuse a worker with this number (null: it asks for none) whose exchanged vector has this length, or null. */
  checkWorker(join: { readonly exchangeLength: number; readonly worker: number | null }): Refusal | null;
  connect(peer: ControlPeer): ServerSession;
  /** The worker holds the model, and may hand it to servers. */
  synced(worker: WorkerId): void;
  /** In the order of their parts; all are there once workers compute. */
  peers(): readonly Peer[];
  broadcast(message: ControllerMessage): void;
  /** To be called a few times per liveness time-out. */
  checkSilence(): void;
  close(reason: string): void;
}

interface Server {
  readonly index: number;
  readonly peer: ControlPeer;
  readonly incarnation: number;
  address: Address | null;
  state: 'new' | 'listening' | 'fetching' | 'holding';
  lastHeardMs: number;
}

/** Servers take the numbers that workers get last. */
export function numberOfServer(index: number): number {
  return LIMITS.workersMax - 1 - index;
}

/** Attempts of one server to get its part before the run is given up. */
const FAILURES_MAX = 10;

export function createServers(dependencies: ServersDependencies): Servers {
  const { count, livenessMs, runKey, step } = dependencies;
  const servers = new Map<number, Server>();
  const donors: WorkerId[] = [];
  const lives = new Map<number, number>();
  let failures = 0;
  let isReady = false;
  let isClosed = false;

  function selfOf({ index, incarnation }: Server): { worker: number; incarnation: number } {
    return { worker: numberOfServer(index), incarnation };
  }

  /** Hands out the parts as far as there are donors. */
  function supply(): void {
    const shape = dependencies.shape();
    const able = dependencies.peersOf(donors);
    const donor = able[failures % Math.max(1, able.length)];
    if (shape === null || donor === undefined || isReady) return;
    for (const server of servers.values()) {
      if (server.state !== 'listening') continue;
      server.state = 'fetching';
      const { exchangeLength, stateLength } = shape;
      const { index } = server;
      const part = { server: index, servers: count, self: selfOf(server) };
      server.peer.send({ type: 'shard', ...part, runKey, exchangeLength, stateLength, donor });
    }
  }

  function checkReady(): void {
    const holding = [...servers.values()].filter(({ state }) => state === 'holding');
    if (isReady || holding.length < count) return;
    isReady = true;
    step({ type: 'serversReady' });
  }

  function lose({ index, peer }: Server, reason: string): void {
    if (isClosed || !servers.delete(index)) return;
    peer.close();
    if (isReady) step({ type: 'serverLost', reason: `server ${index} is gone: ${reason}` });
    else dependencies.onFault(`server ${index} is gone: ${reason}`);
  }

  function onMessage(server: Server, message: WorkerMessage): void {
    server.lastHeardMs = performance.now();
    switch (message.type) {
      case 'serverJoin':
        server.address = message.address;
        server.state = 'listening';
        return supply();
      case 'shardHeld':
        server.state = 'holding';
        return checkReady();
      case 'shardFailed':
        dependencies.onFault(`server ${server.index} could not fetch its part: ${message.reason}`);
        failures += 1;
        if (failures >= FAILURES_MAX)
          return step({ type: 'serverLost', reason: `server ${server.index}: ${message.reason}` });
        server.state = 'listening';
        return supply();
      default:
    }
  }

  return {
    count,
    checkPlace() {
      if (count === 0) return { code: 'refused', message: "this run's strategy has no servers" };
      if (servers.size >= count) return { code: 'refused', message: `this run has its ${count} servers already` };
      return null;
    },
    checkWorker({ exchangeLength, worker }) {
      if (count > exchangeLength) {
        const message = `expected at most as many servers as the model has values, ${exchangeLength}, got ${count}: lower --servers`;
        return { code: 'refused', message };
      }
      if (worker === null || worker <= LIMITS.workersMax - 1 - count) return null;
      const message = `expected a worker number up to ${LIMITS.workersMax - 1 - count}, as servers have those above, got ${worker}`;
      return { code: 'refused', message };
    },
    connect(peer) {
      let index = 0;
      while (servers.has(index)) index += 1;
      const incarnation = (lives.get(index) ?? 0) + 1;
      lives.set(index, incarnation);
      const server: Server = { index, peer, incarnation, address: null, state: 'new', lastHeardMs: performance.now() };
      servers.set(index, server);
      return {
        onMessage: (message) => onMessage(server, message),
        onClose: (reason) => lose(server, reason),
      };
    },
    synced(worker) {
      if (!donors.includes(worker)) donors.push(worker);
      supply();
    },
    peers: () =>
      Array.from({ length: count }, (_, index) => {
        const server = assertPresent(servers.get(index), `server ${index}`);
        return { ...selfOf(server), address: assertPresent(server.address, `the address of server ${index}`) };
      }),
    broadcast(message) {
      for (const { peer } of servers.values()) peer.send(message);
    },
    checkSilence() {
      const nowMs = performance.now();
      for (const server of servers.values()) {
        const silentMs = nowMs - server.lastHeardMs;
        if (silentMs >= livenessMs) lose(server, `no sign of life for ${Math.round(silentMs)} ms`);
      }
    },
    close(reason) {
      isClosed = true;
      for (const { peer } of servers.values()) {
        peer.send({ type: 'close', reason });
        peer.close();
      }
    },
  };
}
