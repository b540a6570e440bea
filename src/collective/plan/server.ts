/**
 * Push and pull: parts of the vector belong to servers instead of members (Li et al., OSDI 2014). A worker sends each server its
 * part of the gradient and gets back what the server makes of everybody's: the new parameters. Ranks 0 to n - 1 are the
 * workers, n to n + S - 1 the servers, in the order of their parts.
 *
 * Rounds of transfers: 2. Bytes sent per worker: the vector; per server: n times its part, in both directions. A server is
 * given memory for its own part alone.
 */
import { assert } from '../../base/assert.js';
import { partBytes, splitParts } from './parts.js';
import type { Part, Plan, Step } from './plan.js';

export interface ServerPlanOptions {
  readonly rank: number;
  readonly workers: number;
  readonly servers: number;
  /** Of the whole vector, also for a server. */
  readonly length: number;
}

/** The server's part of the whole vector. */
export function serverPart({ servers, length }: Omit<ServerPlanOptions, 'rank' | 'workers'>, server: number): Part {
  const part = splitParts(length, servers)[server];
  assert(part !== undefined, `server ${server} is one of ${servers}`);
  return part;
}

/** The steps of one participant. A server's `parts` are those of its own memory: all but its own are empty. */
export function planServer(options: ServerPlanOptions): Plan {
  const { rank, workers, servers, length } = options;
  assert(rank >= 0 && rank < workers + servers, `rank ${rank} is one of ${workers} workers and ${servers} servers`);
  const parts = splitParts(length, servers);
  return rank < workers
    ? { name: 'server', rank, count: workers, parts, rounds: workerRounds(parts, workers) }
    : serverPlan(options, parts[rank - workers] ?? { start: 0, end: 0 });
}

function workerRounds(parts: readonly Part[], workers: number): Plan['rounds'] {
  const each = (make: (part: number, peer: number, bytes: number) => Step): Step[] =>
    parts.map((_, part) => make(part, workers + part, partBytes(parts, part)));
  return [
    each((part, peer, bytes) => ({ kind: 'send', phase: 'reduce', peer, part, terms: 1, bytes })),
    each((part, peer, bytes) => ({ kind: 'receive', phase: 'gather', peer, part, terms: workers, bytes })),
  ];
}

function serverPlan({ rank, workers, servers }: ServerPlanOptions, { start, end }: Part): Plan {
  const part = rank - workers;
  const parts = Array.from({ length: servers }, (_, index) => ({ start: 0, end: index === part ? end - start : 0 }));
  const bytes = partBytes(parts, part);
  const ranks = Array.from({ length: workers }, (_, peer) => peer);
  return {
    name: 'server',
    rank,
    count: workers,
    parts,
    rounds: [
      ranks.map((peer) => ({ kind: 'receive', phase: 'reduce', peer, part, terms: 1, bytes })),
      [
        { kind: 'reduce', part, sources: ranks, terms: workers, bytes },
        ...ranks.map((peer): Step => ({ kind: 'send', phase: 'gather', peer, part, terms: workers, bytes })),
      ],
    ],
  };
}
