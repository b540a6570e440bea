import { describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import type { UntimedEvent } from '../core/events.js';
import { LIMITS } from '../wire/limits.js';
import type { ControllerMessage } from '../wire/messages.js';
import { createServers, type Servers } from './servers.js';

const ADDRESS = { host: '127.0.0.1', port: 4000 };
const SHAPE = { layout: [], fingerprint: '', exchangeLength: 10, stateLength: 10 };

interface Stand {
  readonly servers: Servers;
  readonly events: UntimedEvent[];
  readonly faults: string[];
  connect(): ReturnType<Servers['connect']> & { readonly sent: ControllerMessage[] };
}

function stand(count: number): Stand {
  const events: UntimedEvent[] = [];
  const faults: string[] = [];
  const servers = createServers({
    count,
    livenessMs: 5000,
    runKey: 'key',
    shape: () => SHAPE,
    peersOf: (workers) => workers.map((worker) => ({ worker, incarnation: 1, address: ADDRESS })),
    step: (event) => events.push(event),
    onFault: (message) => faults.push(message),
  });
  return {
    servers,
    events,
    faults,
    connect() {
      const sent: ControllerMessage[] = [];
      const peer = {
        remote: 'far',
        send: (message: ControllerMessage) => void sent.push(message),
        prove: () => undefined,
        close: () => undefined,
      };
      return { ...servers.connect(peer), sent };
    },
  };
}

describe('the servers of a run', () => {
  it('get their parts once a worker holds the model, and are ready when all hold theirs', () => {
    const { servers, events, connect } = stand(2);
    const [first, second] = [connect(), connect()];
    first.onMessage({ type: 'serverJoin', address: ADDRESS });
    expect(first.sent).toEqual([]);
    servers.synced(workerId(3));
    second.onMessage({ type: 'serverJoin', address: ADDRESS });
    expect([first.sent, second.sent]).toMatchObject([
      [{ type: 'shard', server: 0, servers: 2, donor: { worker: 3 }, self: { worker: LIMITS.workersMax - 1 } }],
      [{ type: 'shard', server: 1, servers: 2, donor: { worker: 3 }, self: { worker: LIMITS.workersMax - 2 } }],
    ]);
    first.onMessage({ type: 'shardHeld' });
    expect(events).toEqual([]);
    second.onMessage({ type: 'shardHeld' });
    expect(events).toEqual([{ type: 'serversReady' }]);
    expect(servers.peers().map(({ worker }) => worker)).toEqual([LIMITS.workersMax - 1, LIMITS.workersMax - 2]);
  });

  it('ask another worker where one could not give the parameters', () => {
    const { servers, faults, connect } = stand(1);
    servers.synced(workerId(0));
    servers.synced(workerId(1));
    const server = connect();
    server.onMessage({ type: 'serverJoin', address: ADDRESS });
    server.onMessage({ type: 'shardFailed', reason: 'gone' });
    expect(server.sent).toMatchObject([{ donor: { worker: 0 } }, { donor: { worker: 1 } }]);
    expect(faults).toEqual(['server 0 could not fetch its part: gone']);
  });

  it('end the run when one that holds a part goes, and make room before', () => {
    const { servers, events, faults, connect } = stand(1);
    const early = connect();
    expect(servers.checkPlace()?.message).toContain('its 1 servers already');
    early.onClose('its connection closed');
    expect([events, faults]).toEqual([[], ['server 0 is gone: its connection closed']]);
    expect(servers.checkPlace()).toBeNull();
    servers.synced(workerId(0));
    const server = connect();
    server.onMessage({ type: 'serverJoin', address: ADDRESS });
    expect(server.sent).toMatchObject([{ self: { incarnation: 2 } }]);
    server.onMessage({ type: 'shardHeld' });
    server.onClose('its connection closed');
    expect(events.at(-1)).toEqual({ type: 'serverLost', reason: 'server 0 is gone: its connection closed' });
  });

  it.each([
    [0, 10, null, null],
    [10, 10, null, null],
    [11, 10, null, 'expected at most as many servers as the model has values, 10, got 11: lower --servers'],
    [2, 10, LIMITS.workersMax - 3, null],
    [2, 10, LIMITS.workersMax - 2, 'expected a worker number up to 4093, as servers have those above, got 4094'],
  ])('of %i for %i values take worker number %j: %j', (count, exchangeLength, worker, expected) => {
    expect(stand(count).servers.checkWorker({ exchangeLength, worker })?.message ?? null).toBe(expected);
  });

  it('are refused where the strategy has none', () => {
    expect(stand(0).servers.checkPlace()?.message).toContain('no servers');
  });
});
