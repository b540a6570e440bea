/**
 * How much of the controller strangers can take: connections that have not shown a token count, and say little, and the oldest
 * goes when there are too many. Whoever knows the token is through in a moment, so the oldest is hardly ever one of those.
 */
import type { Socket } from 'node:net';
import { LIMITS } from '../wire/limits.js';

export interface UnprovenConnections {
  /** A connection has come; where that is one too many, the oldest (of its address, or of all) is destroyed. */
  add(socket: Socket): void;
  /** The connection of this socket, or of the TLS socket on it, has proven itself. */
  prove(socket: Socket): void;
}

/** Sockets under TLS are other objects, with the same far end. */
function farEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress ?? '?'} ${remotePort ?? '?'}`;
}

export function createUnprovenConnections(): UnprovenConnections {
  /** By far end, oldest first. */
  const unproven = new Map<string, { readonly socket: Socket; readonly address: string }>();
  const countOf = new Map<string, number>();

  function remove(key: string): void {
    const entry = unproven.get(key);
    if (entry === undefined) return;
    unproven.delete(key);
    const count = (countOf.get(entry.address) ?? 1) - 1;
    if (count === 0) countOf.delete(entry.address);
    else countOf.set(entry.address, count);
  }

  function dropOldest(address: string | null): void {
    for (const [key, entry] of unproven) {
      if (address !== null && entry.address !== address) continue;
      remove(key);
      entry.socket.destroy();
      return;
    }
  }

  return {
    add(socket) {
      const address = socket.remoteAddress ?? '?';
      if ((countOf.get(address) ?? 0) >= LIMITS.unprovenPerAddressMax) dropOldest(address);
      else if (unproven.size >= LIMITS.unprovenConnectionsMax) dropOldest(null);
      const key = farEnd(socket);
      remove(key);
      unproven.set(key, { socket, address });
      countOf.set(address, (countOf.get(address) ?? 0) + 1);
      // A socket that is closed has forgotten its far end; another one may have the same by then.
      socket.once('close', () => {
        if (unproven.get(key)?.socket === socket) remove(key);
      });
    },
    prove: (socket) => remove(farEnd(socket)),
  };
}

export interface MessageRate {
  /** A message of so many bytes has come; for how long to read no more, in ms: 0 as long as it is not too much. */
  take(bytes: number): number;
}

const WINDOW_MS = 1000;

/** Counts messages and bytes of one connection, a second at a time. */
export function createMessageRate(nowMs: () => number): MessageRate {
  let startedMs = nowMs();
  let messages = 0;
  let bytes = 0;
  return {
    take(messageBytes) {
      const elapsedMs = nowMs() - startedMs;
      if (elapsedMs >= WINDOW_MS) {
        startedMs += elapsedMs;
        messages = 0;
        bytes = 0;
      }
      messages += 1;
      bytes += messageBytes;
      const isTooMuch = messages >= LIMITS.controlMessagesPerSecondMax || bytes >= LIMITS.controlBytesPerSecondMax;
      return isTooMuch ? Math.max(1, startedMs + WINDOW_MS - nowMs()) : 0;
    },
  };
}
