/**
 * The books of strangers and of messages, on sockets that are nothing but a far end and an end.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../wire/limits.js';
import { createMessageRate, createUnprovenConnections } from './connection-limits.js';

class FakeSocket extends EventEmitter {
  destroyed = false;
  readonly remoteAddress: string;
  remotePort: number | undefined;
  constructor(address: string, port: number) {
    super();
    this.remoteAddress = address;
    this.remotePort = port;
  }
  destroy(): void {
    this.destroyed = true;
    // As of a real one, the far end is forgotten.
    this.remotePort = undefined;
    this.emit('close');
  }
}

function asSocket(socket: FakeSocket): Socket {
  return socket as unknown as Socket;
}

function addFrom(
  connections: ReturnType<typeof createUnprovenConnections>,
  address: string,
  count: number,
): FakeSocket[] {
  return Array.from({ length: count }, (_, i) => {
    const socket = new FakeSocket(address, 1000 + i);
    connections.add(asSocket(socket));
    return socket;
  });
}

function openOnes(sockets: readonly FakeSocket[]): number {
  return sockets.filter(({ destroyed }) => !destroyed).length;
}

describe('createUnprovenConnections', () => {
  it('drops the oldest of an address that has too many, and none of others', () => {
    const connections = createUnprovenConnections();
    const others = addFrom(connections, '10.0.0.2', 3);
    const sockets = addFrom(connections, '10.0.0.1', LIMITS.unprovenPerAddressMax + 2);
    expect(sockets.slice(0, 3).map(({ destroyed }) => destroyed)).toEqual([true, true, false]);
    expect(openOnes(sockets)).toBe(LIMITS.unprovenPerAddressMax);
    expect(openOnes(others)).toBe(3);
  });

  it('drops the oldest of all when there are too many of all addresses', () => {
    const connections = createUnprovenConnections();
    const sockets = Array.from({ length: LIMITS.unprovenConnectionsMax + 1 }, (_, i) => {
      const socket = new FakeSocket(`10.0.${i % 50}.1`, 1000 + i);
      connections.add(asSocket(socket));
      return socket;
    });
    expect(sockets.slice(0, 2).map(({ destroyed }) => destroyed)).toEqual([true, false]);
    expect(openOnes(sockets)).toBe(LIMITS.unprovenConnectionsMax);
  });

  it('counts neither those that have proven themselves nor those that are gone', () => {
    const connections = createUnprovenConnections();
    const [proven, gone, waiting] = addFrom(connections, '10.0.0.1', 3) as [FakeSocket, FakeSocket, FakeSocket];
    // A socket of TLS is another one with the same far end.
    connections.prove(asSocket(new FakeSocket('10.0.0.1', 1000)));
    gone.destroy();
    const sockets = Array.from({ length: LIMITS.unprovenPerAddressMax - 1 }, (_, i) => {
      const socket = new FakeSocket('10.0.0.1', 5000 + i);
      connections.add(asSocket(socket));
      return socket;
    });
    expect([proven, waiting, ...sockets].filter(({ destroyed }) => destroyed)).toEqual([]);
    connections.add(asSocket(new FakeSocket('10.0.0.1', 9000)));
    expect([proven.destroyed, waiting.destroyed, openOnes(sockets)]).toEqual([false, true, sockets.length]);
  });

  it('does not take a new connection for an old one with the same far end', () => {
    const connections = createUnprovenConnections();
    const [old] = addFrom(connections, '10.0.0.1', 1) as [FakeSocket];
    addFrom(connections, '10.0.0.1', 1);
    old.emit('close');
    const sockets = Array.from({ length: LIMITS.unprovenPerAddressMax }, (_, i) => {
      const socket = new FakeSocket('10.0.0.1', 5000 + i);
      connections.add(asSocket(socket));
      return socket;
    });
    expect(openOnes(sockets)).toBe(sockets.length);
  });
});

describe('createMessageRate', () => {
  it('lets the messages of a second pass, then asks for a pause to the end of it', () => {
    let nowMs = 5000;
    const rate = createMessageRate(() => nowMs);
    for (let i = 1; i < LIMITS.controlMessagesPerSecondMax; i += 1) expect(rate.take(10)).toBe(0);
    nowMs += 400;
    expect(rate.take(10)).toBe(600);
    nowMs += 600;
    expect(rate.take(10)).toBe(0);
  });

  it('does so for bytes, too, and takes the greatest message in one', () => {
    let nowMs = 0;
    const rate = createMessageRate(() => nowMs);
    expect(rate.take(LIMITS.controlMessageBytesMax)).toBe(0);
    nowMs = 250;
    expect(rate.take(LIMITS.controlBytesPerSecondMax - LIMITS.controlMessageBytesMax)).toBe(750);
  });
});
