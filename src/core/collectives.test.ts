import { describe, expect, it } from 'vitest';
import { startedRun } from '../../test/scenarios/scripted-run.js';
import { chooseCollective, RING_MEMBERS_MIN } from './collectives.js';
import { type CollectiveChoice, COLLECTIVE_CHOICES, defaultCoreConfig } from './config.js';
import { validateCoreConfig } from './validate-config.js';

describe('the collective of a group', () => {
  it.each([
    ['auto', 1, 'direct'],
    ['auto', 2, 'direct'],
    ['auto', RING_MEMBERS_MIN - 1, 'direct'],
    ['auto', RING_MEMBERS_MIN, 'ring'],
    ['auto', 100, 'ring'],
    ['direct', 100, 'direct'],
    ['ring', 2, 'ring'],
  ] as const)('%s, of %i members: %s', (choice, count, expected) => {
    expect(chooseCollective(choice, count)).toBe(expected);
  });

  it.each([
    ['auto', 'direct'],
    ['direct', 'direct'],
    ['ring', 'ring'],
  ] as const)('is the configured one: %s', (collective, expected) => {
    const run = startedRun(3, { collective, groupSize: 3 }).ready(0).ready(1).ready(2);
    expect(run.lastGroupOf(0).collective).toBe(expected);
  });

  it('follows the size of each group, not P', () => {
    const run = startedRun(RING_MEMBERS_MIN, { strategy: 'all-reduce' });
    for (let worker = 0; worker < RING_MEMBERS_MIN; worker += 1) run.ready(worker);
    expect(run.lastGroupOf(0)).toMatchObject({ collective: 'ring' });
    for (let worker = 0; worker < RING_MEMBERS_MIN; worker += 1) run.done(worker);
    run.lost(0);
    for (let worker = 1; worker < RING_MEMBERS_MIN; worker += 1) run.ready(worker);
    expect(run.lastGroupOf(1)).toMatchObject({ collective: 'direct' });
  });

  it.each(COLLECTIVE_CHOICES)('may be %s', (collective) => {
    expect(() => validateCoreConfig(defaultCoreConfig({ collective }))).not.toThrow();
  });

  it('may be no other', () => {
    const config = defaultCoreConfig({ collective: 'rign' as CollectiveChoice });
    expect(() => validateCoreConfig(config)).toThrow(/unknown collective "rign".*ring/);
  });
});
