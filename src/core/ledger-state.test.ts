import { assert, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import { createRandom } from '../base/random.js';
import type { LedgerConfig } from './config.js';
import type { Lease, LedgerState } from './group.js';
import { createLedger } from './ledger.js';

const CONFIG: LedgerConfig = { sampleCount: 100, batchSamples: 10, leaseBatches: 4, epochs: 2 };
const [a, b] = [workerId(0), workerId(1)];

describe('the state of a ledger', () => {
  it('holds what is given back, held and called unfinished, and of a lease that was begun the rest', () => {
    const ledger = createLedger(CONFIG);
    const first = ledger.take(a) as Lease;
    ledger.finish(a, first.id);
    ledger.take(a);
    ledger.giveBack(a);
    ledger.take(b);
    ledger.take(a);
    const state = ledger.exportState({ unfinished: [first], processed: new Map([[1, 30]]) });
    expect(state).toEqual({
      nextId: 3,
      epoch: 1,
      start: 0,
      open: [
        { id: 0, epoch: 0, start: 0, count: 40 },
        { id: 1, epoch: 0, start: 70, count: 10 },
        { id: 2, epoch: 0, start: 80, count: 20 },
      ],
    });
  });

  it('leaves out a lease whose every sample was processed', () => {
    const ledger = createLedger(CONFIG);
    ledger.take(a);
    expect(ledger.exportState({ unfinished: [], processed: new Map([[0, 40]]) }).open).toEqual([]);
  });

  it('does not change the ledger', () => {
    const ledger = createLedger(CONFIG);
    const lease = ledger.take(a) as Lease;
    ledger.exportState({ unfinished: [], processed: new Map([[0, 10]]) });
    expect(ledger.heldBy(a)).toEqual(lease);
    expect(ledger.finish(a, lease.id)).toBe(true);
  });

  it('is given out first after a restore, the oldest lease before the others', () => {
    const open = [
      { id: 3, epoch: 1, start: 10, count: 30 },
      { id: 4, epoch: 1, start: 40, count: 40 },
    ];
    const ledger = createLedger(CONFIG, { nextId: 5, epoch: 1, start: 80, open });
    expect([ledger.take(a), ledger.take(b)]).toEqual(open);
    ledger.finish(a, 3);
    expect(ledger.take(a)).toEqual({ id: 5, epoch: 1, start: 80, count: 20 });
    ledger.finish(a, 5);
    expect(ledger.complete).toBe(false);
    ledger.finish(b, 4);
    expect(ledger.complete).toBe(true);
  });

  it('may be of fewer epochs than the ledger that goes on', () => {
    const done: LedgerState = { nextId: 6, epoch: 2, start: 0, open: [] };
    expect(createLedger(CONFIG, done).complete).toBe(true);
    expect(createLedger({ ...CONFIG, epochs: 3 }, done).take(a)).toEqual({ id: 6, epoch: 2, start: 0, count: 40 });
  });

  it('takes no more of a lease than there is', () => {
    const ledger = createLedger(CONFIG);
    ledger.take(a);
    expect(() => ledger.exportState({ unfinished: [], processed: new Map([[0, 41]]) })).toThrow('41 samples');
  });
});

/**
 * Workers that process batch by batch, die, and are cut at moments of their own: whatever was processed before the cuts, and
 * after a restore, is every sample of every epoch once, as far as the replicas of the cut contain it.
 */
function playWithCut(config: LedgerConfig, workers: number, cutAt: number, seed: number): Map<string, number> {
  const random = createRandom(seed);
  const counts = new Map<string, number>();
  const count = ({ epoch }: Lease, from: number, to: number): void => {
    for (let i = from; i < to; i += 1) counts.set(`${epoch}/${i}`, (counts.get(`${epoch}/${i}`) ?? 0) + 1);
  };

  function play(state: LedgerState | null, isCut: boolean): LedgerState | null {
    const ledger = createLedger(config, state);
    const positions = new Map<number, number>();
    const cut = new Set<number>();
    const processed = new Map<number, number>();
    const unfinished: Lease[] = [];
    for (let step = 0; ; step += 1) {
      if (isCut && step >= cutAt && random.next() < 0.5) {
        const worker = random.below(workers);
        const held = ledger.heldBy(workerId(worker));
        if (!cut.has(worker) && held !== null) processed.set(held.id, positions.get(worker) ?? 0);
        cut.add(worker);
        if (cut.size === workers) return ledger.exportState({ unfinished, processed });
      }
      const worker = random.below(workers);
      const id = workerId(worker);
      const lease = ledger.heldBy(id);
      if (lease === null) {
        if (ledger.take(id) === null && ledger.complete && !isCut) return null;
        positions.set(worker, 0);
        continue;
      }
      const position = positions.get(worker) ?? 0;
      if (position < lease.count) {
        const next = Math.min(lease.count, position + config.batchSamples);
        // What a worker does after its cut is not in its replica.
        if (!cut.has(worker)) count(lease, lease.start + position, lease.start + next);
        positions.set(worker, next);
      } else {
        if (cut.has(worker)) unfinished.push(lease);
        ledger.finish(id, lease.id);
      }
    }
  }

  play(play(null, true), false);
  return counts;
}

describe('a run that is cut and restored', () => {
  it('processes every sample of every epoch once', () => {
    assert(
      property(
        record({
          sampleCount: integer({ min: 10, max: 60 }),
          batchSamples: integer({ min: 1, max: 7 }),
          leaseBatches: integer({ min: 1, max: 4 }),
          epochs: integer({ min: 1, max: 3 }),
        }),
        integer({ min: 1, max: 4 }),
        integer({ min: 0, max: 200 }),
        integer({ min: 0, max: 1e6 }),
        (config, workers, cutAt, seed) => {
          const counts = playWithCut(config, workers, cutAt, seed);
          expect(counts.size).toBe(config.sampleCount * config.epochs);
          expect(new Set(counts.values())).toEqual(new Set([1]));
        },
      ),
      { numRuns: 300 },
    );
  });
});
