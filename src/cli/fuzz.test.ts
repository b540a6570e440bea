import { describe, expect, it } from 'vitest';
import { type Controller, createController } from '../core/controller.js';
import { type FleetDependencies, playScenario } from '../sim/faults/fleet.js';
import type { Scenario } from '../sim/faults/scenario.js';
import { fuzz } from './fuzz.js';

/** From here on it takes a few runs to find that leases are missing. */
const FIRST = 1;

/** Never gives a lease. */
const FORGETFUL: FleetDependencies = {
  createController(...options): Controller {
    const controller = createController(...options);
    return { ...controller, step: (event) => controller.step(event).filter(({ type }) => type !== 'lease') };
  },
};

/** What is printed, the exit status, and the seeds that were played. A run takes a second of the clock. */
function fuzzed(args: string, dependencies?: FleetDependencies, firstSeed = 1) {
  const lines: string[] = [];
  const seeds: number[] = [];
  const play = (scenario: Scenario) => {
    seeds.push(scenario.seed);
    return playScenario(scenario, dependencies);
  };
  const nowMs = (): number => 1000 * seeds.length;
  const status = fuzz(args.split(' ').filter(Boolean), {
    write: (line) => void lines.push(line),
    nowMs,
    drawSeed: () => firstSeed,
    play,
  });
  return { lines, seeds, status };
}

describe('npm run fuzz', () => {
  it('plays fresh seeds until time is up', () => {
    const { seeds, status, lines } = fuzzed('--seconds 12');
    expect(status).toBe(0);
    expect(seeds.map((seed) => seed - (seeds[0] as number))).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(lines[0]).toMatch(/^10 s: 10 runs from seed \d+, \d+ events$/);
    expect(lines[1]).toMatch(/^12 s: 12 runs .*: every rule was kept$/);
    expect(lines[2]).toMatch(/^in them: [1-9]\d* groups, /);
    expect(seeds[0]).toBe(1);
    expect(fuzzed('--seconds 1', undefined, 9).seeds).toEqual([9]);
  });

  it.each([
    ['--seed 7', [7]],
    ['--seed 7 --runs 3', [7, 8, 9]],
    ['--seed 7 --seconds 2', [7, 8]],
    ['--seed 7 --runs 3 --seconds 2', [7, 8]],
  ])('%s plays %j', (args, expected) => {
    expect(fuzzed(args).seeds).toEqual(expected);
  });

  it('prints the seed, the rule, what happened, and how to see it again', () => {
    const { lines, seeds, status } = fuzzed('--runs 100', FORGETFUL, FIRST);
    const seed = seeds.at(-1) as number;
    expect(status).toBe(1);
    expect(seeds.length).toBeLessThan(100);
    expect(lines[0]).toMatch(new RegExp(`^seed ${seed} breaks a rule after \\d+ events, at [0-9.]+ ms:$`));
    expect(lines[1]).toMatch(/deadlock|nothing is left to happen|did not/);
    expect(lines).toContainEqual(
      expect.stringMatching(/^ +[0-9.]+ ms {2}leaseRequested worker \d+\/\d+ finished=null$/),
    );
    expect(lines.at(-1)).toBe(`to see it again: npm run fuzz -- --seed ${seed}`);
    const again = fuzzed(`--seed ${seed}`, FORGETFUL);
    expect([again.status, again.lines.slice(0, 4)]).toEqual([1, lines.slice(0, 4)]);
    // All of it, this time.
    expect(again.lines).toContain('what happened:');
  });

  it.each([
    ['--seconds 0', '--seconds: expected a whole number from 1, got 0'],
    ['--runs many', '--runs: expected a whole number, got "many"'],
    ['--seed -1', 'argument is ambiguous'],
    ['--seed=-1', '--seed: expected a whole number from 0, got -1'],
    ['--sedes 3', "Unknown option '--sedes'"],
    ['now', "Unexpected argument 'now'"],
  ])('refuses %s', (args, message) => {
    expect(() => fuzzed(args)).toThrow(
      expect.objectContaining({ code: 'bad-option', message: expect.stringContaining(message) }),
    );
    expect(() => fuzzed(args)).toThrow(/^[^\n]*$/);
  });
});
