import { describe, expect, it } from 'vitest';
import { bytesOfPlan, type Step } from './plan.js';
import { planServer, serverPart } from './server.js';

const MATRIX = [1, 2, 3, 7].flatMap((workers) =>
  [1, 2, 5].flatMap((servers) => [0, 1, 5, 13, 1000].map((length) => ({ workers, servers, length }))),
);

function plansOf(options: (typeof MATRIX)[number]) {
  const count = options.workers + options.servers;
  return Array.from({ length: count }, (_, rank) => planServer({ rank, ...options }));
}

describe('the plan of servers', () => {
  it.each(MATRIX)('has a receive for every send: %j', (options) => {
    const plans = plansOf(options);
    const ends = (kind: Step['kind'], from: (rank: number, peer: number) => string): readonly string[] =>
      plans
        .flatMap(({ rank, rounds }) =>
          rounds
            .flat()
            .flatMap((step) =>
              step.kind === kind && step.kind !== 'reduce'
                ? [`${from(rank, step.peer)} ${step.phase} ${step.part} ${step.terms} ${step.bytes}`]
                : [],
            ),
        )
        .toSorted();
    const sends = ends('send', (rank, peer) => `${rank}>${peer}`);
    expect(ends('receive', (rank, peer) => `${peer}>${rank}`)).toEqual(sends);
    expect(sends).toHaveLength(2 * options.workers * options.servers);
  });

  it.each(MATRIX)(
    'moves the vector once in each direction per worker, and a part per worker at a server: %j',
    (options) => {
      const { workers, length } = options;
      plansOf(options).forEach((plan, rank) => {
        const part = rank < workers ? { start: 0, end: length } : serverPart(options, rank - workers);
        const bytes = 4 * (part.end - part.start) * (rank < workers ? 1 : workers);
        expect(bytesOfPlan(plan)).toEqual({ sent: bytes, received: bytes });
      });
    },
  );

  it.each(MATRIX)('has each part summed by its server, over all workers in order: %j', (options) => {
    plansOf(options).forEach(({ rounds }, rank) => {
      const reduces = rounds.flat().filter(({ kind }) => kind === 'reduce');
      const sources = Array.from({ length: options.workers }, (_, worker) => worker);
      const expected =
        rank < options.workers ? [] : [{ part: rank - options.workers, sources, terms: options.workers }];
      expect(reduces).toMatchObject(expected);
    });
  });

  it('refuses ranks that there are not', () => {
    expect(() => planServer({ rank: 3, workers: 2, servers: 1, length: 4 })).toThrow('rank 3');
    expect(() => serverPart({ servers: 2, length: 4 }, 2)).toThrow('server 2');
  });
});
