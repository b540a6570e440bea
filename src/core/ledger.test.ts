import { describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import type { LedgerConfig } from './config.js';
import { createLedger, type Ledger } from './ledger.js';

const [a, b, c] = [workerId(0), workerId(1), workerId(2)];

function ledgerOf(overrides: Partial<LedgerConfig> = {}): Ledger {
  return createLedger({ sampleCount: 100, batchSamples: 10, leaseBatches: 4, epochs: 1, ...overrides });
}

describe('leases', () => {
  it('cut an epoch without gap or overlap; the last is what is left', () => {
    const ledger = ledgerOf({ epochs: 2 });
    const leases = [];
    for (;;) {
      const lease = ledger.take(a);
      if (lease === null) break;
      leases.push(lease);
      expect(ledger.finish(a, lease.id)).toBe(true);
    }
    expect(leases).toEqual([
      { id: 0, epoch: 0, start: 0, count: 40 },
      { id: 1, epoch: 0, start: 40, count: 40 },
      { id: 2, epoch: 0, start: 80, count: 20 },
      { id: 3, epoch: 1, start: 0, count: 40 },
      { id: 4, epoch: 1, start: 40, count: 40 },
      { id: 5, epoch: 1, start: 80, count: 20 },
    ]);
    expect(ledger.complete).toBe(true);
  });

  it('go back at a death and come first, the oldest before the others', () => {
    const ledger = ledgerOf();
    expect(ledger.take(a)?.id).toBe(0);
    expect(ledger.take(b)?.id).toBe(1);
    ledger.giveBack(b);
    ledger.giveBack(a);
    expect([ledger.take(c)?.id, ledger.take(a)?.id, ledger.take(b)?.id]).toEqual([0, 1, 2]);
  });

  it('are finished by their holder alone, once', () => {
    const ledger = ledgerOf();
    const lease = ledger.take(a)?.id ?? -1;
    expect(ledger.finish(b, lease)).toBe(false);
    expect(ledger.finish(a, lease + 1)).toBe(false);
    expect(ledger.finish(a, lease)).toBe(true);
    expect(ledger.finish(a, lease)).toBe(false);
  });

  it('do nothing when given back by a worker without one', () => {
    const ledger = ledgerOf();
    ledger.giveBack(a);
    expect(ledger.take(a)?.id).toBe(0);
    expect(ledger.holds(a)).toBe(true);
    expect(ledger.holds(b)).toBe(false);
  });
});

describe('the end of the data', () => {
  it('has come when nothing is left to take and nothing is held', () => {
    const ledger = ledgerOf({ sampleCount: 50 });
    const [first, second] = [ledger.take(a), ledger.take(b)];
    expect(ledger.available).toBe(false);
    expect(ledger.take(c)).toBeNull();
    expect(ledger.complete).toBe(false);
    ledger.finish(a, first?.id ?? -1);
    ledger.giveBack(b);
    expect(ledger.available).toBe(true);
    expect(ledger.complete).toBe(false);
    expect(ledger.take(a)).toEqual(second);
    ledger.finish(a, second?.id ?? -1);
    expect(ledger.complete).toBe(true);
  });

  it('never comes without a number of epochs', () => {
    const ledger = ledgerOf({ sampleCount: 40, epochs: null });
    for (let epoch = 0; epoch < 50; epoch += 1) {
      const lease = ledger.take(a);
      expect(lease).toMatchObject({ epoch, start: 0, count: 40 });
      ledger.finish(a, lease?.id ?? -1);
      expect(ledger.complete).toBe(false);
    }
  });
});
