import { describe, expect, it } from 'vitest';
import { type Controller, createController } from '../../src/core/controller.js';
import type { Effect } from '../../src/core/effects.js';
import { type FleetDependencies, playScenario } from '../../src/sim/faults/fleet.js';
import { describeFailure } from '../../src/sim/faults/failure.js';
import { drawScenario, type Scenario } from '../../src/sim/faults/scenario.js';
import { addTally, createTally, type Tally } from '../../src/sim/faults/tally.js';
import { someOf } from '../support/thorough.js';

/** CI plays this many times as many seeds as `npm test`. */
const THOROUGH = 10;

function seedsUpTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, seed) => seed);
}

/** Plays the scenarios of the first seeds; gives the sum of what happened in them. */
function play(runs: number, fixed: Partial<Scenario> = {}): Tally {
  const sum = createTally();
  for (const seed of someOf(runs, seedsUpTo(THOROUGH * runs))) {
    const played = playScenario(drawScenario(seed, fixed));
    if (played.failure !== null) throw new Error(describeFailure(played).join('\n'));
    addTally(sum, played.tally);
  }
  return sum;
}

describe('a fleet of honest workers', () => {
  it('keeps every rule and comes to its end, whatever befalls it', () => {
    const tally = play(350);
    expect(Object.entries(tally).filter(([, count]) => count === 0)).toEqual([]);
  });

  it('keeps every rule when holds expire', () => {
    const hasty = { strategy: 'partial-reduce', filter: 'epoch', connectivityGroups: 1, holdTimeoutMs: 5 } as const;
    expect(play(40, { ...hasty, workers: 6, groupSize: 2, speedSpread: 8 }).holdsExpired).toBeGreaterThan(10);
  });

  it.each(['epoch', 'window'] as const)('connects all active workers within any 2T groups: filter %s', (filter) => {
    const patient = {
      strategy: 'partial-reduce',
      filter,
      holdTimeoutMs: 1e7,
      horizonMs: 2000,
      minLiveWorkers: 1,
    } as const;
    const endless = { ledger: null, ownSteps: null, maxLocalSteps: null, stops: true } as const;
    expect(play(40, { ...patient, ...endless, workers: 6 }).windows).toBeGreaterThan(500);
  });

  it('never averages where nobody is finite, and ends where nobody can be', () => {
    const calm = { strategy: 'partial-reduce', horizonMs: 1000, workers: 4, minWorkers: 2 } as const;
    expect(play(40, { ...calm, notFiniteRate: 0.5 }).endsNotFinite).toBeGreaterThan(10);
  });

  it('keeps all-reduce at one round for all, joiners too, while nothing fails', () => {
    const faultless = { deaths: 0, stalls: 0, hangs: 0, crashes: 0, restarts: 0, cuts: 0, giveUpRate: 0 } as const;
    const calm = { ...faultless, strategy: 'all-reduce', ledger: null, checkpoints: null } as const;
    expect(play(40, { ...calm, workers: 4, minWorkers: 3, joins: 4 }).joinersStarted).toBeGreaterThan(10);
  });

  it.each([
    ['local-sgd', 40],
    ['ad-psgd', 60],
    ['eager-reduce', 60],
    ['ps-bsp', 30],
    ['ps-asp', 30],
    ['ps-ssp', 30],
    ['ps-backup', 30],
    ['ps-hete', 30],
  ] as const)('keeps every rule of %s', (strategy, runs) => {
    const tally = play(runs, { strategy, workers: 5, minWorkers: 2 });
    const { groups, aborts, deaths, finalGroups, joinersStarted, restarts, returns } = tally;
    expect(Math.min(groups, aborts, deaths, finalGroups, joinersStarted, returns)).toBeGreaterThan(0);
    // What the parameter servers hold is not written down.
    expect(restarts > 0).toBe(!strategy.startsWith('ps-'));
  });

  it('does the same again for the same seed, and something else for another', () => {
    const prints = seedsUpTo(20).map((seed) => {
      const fingerprint = (): string => playScenario(drawScenario(seed)).trace.fingerprint();
      expect(fingerprint()).toBe(fingerprint());
      return fingerprint();
    });
    expect(new Set(prints).size).toBe(prints.length);
  });
});

/** A controller whose effects are tampered with. */
function tampered(tamper: (effect: Effect) => Effect | null): FleetDependencies {
  return {
    createController(...options): Controller {
      const controller = createController(...options);
      return { ...controller, step: (event) => controller.step(event).flatMap((effect) => tamper(effect) ?? []) };
    },
  };
}

describe('a controller with a fault is found out', () => {
  it.each<[what: string, found: RegExp, tamper: (effect: Effect) => Effect | null]>([
    ['that forgets to start workers', /nothing is left to happen|deadlock/, (e) => (e.type === 'start' ? null : e)],
    ['that forgets to close groups', /is in the open groups|deadlock/, (e) => (e.type === 'groupClosed' ? null : e)],
    [
      'that gives one lease to all',
      /is given/,
      (e) => (e.type === 'lease' ? { ...e, lease: { ...e.lease, id: 0 } } : e),
    ],
    ['that numbers all lives alike', /incarnation/, (e) => (e.type === 'admit' ? { ...e, incarnation: 1 } : e)],
    [
      'whose weights do not sum to 1',
      /weights sum to/,
      (e) => {
        if (e.type !== 'formGroup') return e;
        const members = e.group.members.map((member) => ({ ...member, weight: member.weight / 2 }));
        return { ...e, group: { ...e.group, members } };
      },
    ],
    [
      'whose groups lack their last member',
      /members/,
      (e) => (e.type === 'formGroup' ? { ...e, group: { ...e.group, members: e.group.members.slice(0, -1) } } : e),
    ],
    [
      'that counts too much into a checkpoint',
      /a checkpoint after/,
      (e) => (e.type === 'checkpoint' ? { ...e, progress: { ...e.progress, samples: e.progress.samples + 1 } } : e),
    ],
    ['that ends without the model', /ends with holders/, (e) => (e.type === 'runEnded' ? { ...e, holders: [] } : e)],
  ])('%s', (_, found, tamper) => {
    const busy = {
      strategy: 'partial-reduce',
      ledger: { sampleCount: 200, batchSamples: 8, leaseBatches: 2, epochs: 1 },
    } as const;
    const fixed = { ...busy, maxLocalSteps: null, checkpoints: { everySamples: 20, everyMs: null }, deaths: 3 };
    const failures = seedsUpTo(10).map((seed) => playScenario(drawScenario(seed, fixed), tampered(tamper)).failure);
    expect(failures.some((failure) => found.test(failure ?? ''))).toBe(true);
  });
});
