import { assert, property, sample } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Tally } from './accounting.js';
import { playFleet } from './fleet.js';
import { type Scenario, scenarios } from './scenario.js';

/** Plays many scenarios; gives the sum of what happened in them. A failure prints fast-check's seed and the scenario. */
function play(runs: number, fixed: Partial<Scenario> = {}): Tally {
  const sum: Partial<Record<keyof Tally, number>> = {};
  assert(
    property(scenarios(fixed), (scenario) => {
      const { tally } = playFleet(scenario);
      for (const key of Object.keys(tally) as (keyof Tally)[]) sum[key] = (sum[key] ?? 0) + tally[key];
    }),
    { numRuns: runs },
  );
  return sum as Tally;
}

describe('a fleet of honest workers', () => {
  it('keeps every rule and comes to its end, whatever befalls it', () => {
    const tally = play(350);
    // Holds seldom expire here: they have a test of their own.
    const missing = Object.entries(tally).filter(([name, count]) => count === 0 && name !== 'holdsExpired');
    expect(missing).toEqual([]);
  });

  it('keeps every rule when holds expire', () => {
    const hasty = { strategy: 'partial-reduce', filter: 'epoch', connectivityGroups: 1, holdTimeoutMs: 5 } as const;
    expect(play(60, { ...hasty, workers: 6, groupSize: 2 }).holdsExpired).toBeGreaterThan(10);
  });

  it.each(['epoch', 'window'] as const)('connects all active workers within any 2T groups: filter %s', (filter) => {
    const patient = { strategy: 'partial-reduce', filter, holdTimeoutMs: 1e7, horizonMs: 2000 } as const;
    const { windows } = play(100, { ...patient, ledger: null, ownSteps: null, maxLocalSteps: null, workers: 6 });
    expect(windows).toBeGreaterThan(1000);
  });

  it('never averages where nobody is finite, and ends where nobody can be', () => {
    const calm = { strategy: 'partial-reduce', horizonMs: 1000, workers: 4, minWorkers: 2 } as const;
    expect(play(60, { ...calm, notFiniteRate: 0.5 }).endsNotFinite).toBeGreaterThan(10);
  });

  it('keeps all-reduce at one round for all, joiners too, while nothing fails', () => {
    const calm = { strategy: 'all-reduce', ledger: null, deaths: 0, stalls: 0, giveUpRate: 0 } as const;
    expect(play(60, { ...calm, workers: 4, minWorkers: 3, joins: 4 }).joinersStarted).toBeGreaterThan(10);
  });

  it.each(['ps-bsp', 'ps-asp', 'ps-ssp', 'ps-backup', 'ps-hete'] as const)(
    'keeps every rule with servers: %s',
    (strategy) => {
      // Two at least, as one backup is left out of each round.
      const tally = play(60, { strategy, workers: 5, minWorkers: 2 });
      expect(Math.min(tally.groups, tally.aborts, tally.deaths, tally.finalGroups)).toBeGreaterThan(0);
      expect(tally.releases).toBe(0);
    },
  );

  it.each(['ad-psgd', 'eager-reduce'] as const)('keeps every rule with passive members: %s', (strategy) => {
    const tally = play(150, { strategy, workers: 5, minWorkers: 2, notFiniteRate: 0 });
    const seen = [tally.groups, tally.aborts, tally.deaths, tally.finalGroups, tally.joinersStarted];
    expect(Math.min(...seen)).toBeGreaterThan(0);
  });

  it('does the same again for the same seed', () => {
    assert(
      property(scenarios(), (scenario) => {
        const { hash, steps } = playFleet(scenario);
        expect(playFleet(scenario)).toMatchObject({ hash, steps });
      }),
      { numRuns: 30 },
    );
  });

  it('does something else for another seed', () => {
    const [scenario] = sample(scenarios({ workers: 4, minWorkers: 2 }), { numRuns: 1, seed: 1 });
    expect(playFleet({ ...(scenario as Scenario), seed: 1 }).hash).not.toBe(
      playFleet({ ...(scenario as Scenario), seed: 2 }).hash,
    );
  });
});
