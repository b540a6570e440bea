import { describe, expect, it } from 'vitest';
import { createPatience, createProgressWatch, type PeerProgress, TICKS_PER_TIMEOUT } from './progress-watch.js';

/** Ticks until somebody is accused, and who; `at` tells the peers' state at each tick. */
function ticksUntilAccused(at: (tick: number) => readonly PeerProgress[], patience = 10): [number, number] {
  const watch = createProgressWatch(patience);
  for (let tick = 1; tick < 1000; tick += 1) {
    const accused = watch.tick(at(tick));
    if (accused !== null) return [tick, accused];
  }
  throw new Error('nobody was accused');
}

describe('the progress watch', () => {
  it('accuses who owes something and moves nothing, after the patience', () => {
    // The first tick only sees what there is.
    expect(ticksUntilAccused(() => [{ rank: 1, bytes: 0, lateness: 0 }])).toEqual([11, 1]);
  });

  it('starts anew with every byte', () => {
    const stopsAt = (tick: number): PeerProgress[] => [{ rank: 2, bytes: Math.min(tick, 25), lateness: 0 }];
    expect(ticksUntilAccused(stopsAt)).toEqual([35, 2]);
  });

  it('accuses nobody who owes nothing', () => {
    const watch = createProgressWatch(10);
    for (let tick = 0; tick < 100; tick += 1) expect(watch.tick([{ rank: 1, bytes: 5, lateness: null }])).toBe(null);
    expect(watch.longestPause).toBe(0);
  });

  it('counts from when something is owed', () => {
    const owesFrom = (tick: number): PeerProgress[] => [{ rank: 1, bytes: 7, lateness: tick > 20 ? 0 : null }];
    expect(ticksUntilAccused(owesFrom)).toEqual([30, 1]);
  });

  it('gives who owes a later round longer: it may be waiting itself', () => {
    expect(ticksUntilAccused(() => [{ rank: 1, bytes: 0, lateness: 1 }])).toEqual([21, 1]);
    const both = [
      { rank: 1, bytes: 0, lateness: 0.5 },
      { rank: 2, bytes: 0, lateness: 0.25 },
    ];
    expect(ticksUntilAccused(() => both)).toEqual([14, 2]);
  });

  it('tells the longest pause', () => {
    const watch = createProgressWatch(10);
    for (let tick = 0; tick < 40; tick += 1) watch.tick([{ rank: 1, bytes: Math.floor(tick / 6), lateness: 0 }]);
    expect(watch.longestPause).toBe(5);
  });
});

describe('patience', () => {
  it('is the time-out, also after short pauses', () => {
    const patience = createPatience();
    expect(patience.ticks).toBe(TICKS_PER_TIMEOUT);
    patience.ended(3);
    expect(patience.ticks).toBe(TICKS_PER_TIMEOUT);
  });

  it('grows with longer pauses that ended well, and forgets them', () => {
    const patience = createPatience();
    patience.ended(9);
    expect(patience.ticks).toBe(27);
    for (let i = 0; i < 16; i += 1) patience.ended(0);
    expect(patience.ticks).toBe(TICKS_PER_TIMEOUT);
  });

  it('doubles with each collective that was given up, to a limit, until one ends well', () => {
    const patience = createPatience();
    const seen = Array.from({ length: 5 }, () => {
      patience.stalled();
      return patience.ticks;
    });
    expect(seen).toEqual([20, 40, 80, 80, 80]);
    patience.ended(0);
    expect(patience.ticks).toBe(TICKS_PER_TIMEOUT);
  });
});
