/**
 * `npm run fuzz`: plays random faults against the controller's state machine (sim/faults), seed after seed, until time is up or
 * a rule is broken. Exit status 0 (all rules kept), 1 (one was broken) or 2 (bad usage).
 */
import { parseArgs } from 'node:util';
import { messageOf, PreduceError } from '../base/errors.js';
import { describeFailure } from '../sim/faults/failure.js';
import type { Played } from '../sim/faults/fleet.js';
import { drawScenario, type Scenario } from '../sim/faults/scenario.js';
import { addTally, createTally, type Tally } from '../sim/faults/tally.js';
import { wholeNumber } from './parse.js';

const SECONDS = 60;
const PROGRESS_MS = 10_000;

export interface FuzzDependencies {
  readonly write: (line: string) => void;
  readonly nowMs: () => number;
  /** A first seed nobody has asked for. */
  readonly drawSeed: () => number;
  readonly play: (scenario: Scenario) => Played;
}

interface FuzzOptions {
  readonly firstSeed: number;
  /** Null: as many as time allows. */
  readonly runs: number | null;
  /** Null: as long as it takes. */
  readonly limitMs: number | null;
  /** A seed that somebody asks for is told of from its beginning. */
  readonly tellsAll: boolean;
}

/** Throws `bad-option`. */
function optionsOf(args: readonly string[], drawSeed: () => number): FuzzOptions {
  const { seconds, seed, runs } = parsed(args);
  const count = (flag: string, text: string | undefined, least: number): number | null => {
    if (text === undefined) return null;
    const value = wholeNumber(flag)(text);
    if (value >= least) return value;
    throw new PreduceError('bad-option', `${flag}: expected a whole number from ${least}, got ${value}`);
  };
  const first = count('--seed', seed, 0);
  const limit = count('--seconds', seconds, 1);
  const asked = count('--runs', runs, 1);
  const many = asked ?? (first !== null && limit === null ? 1 : null);
  return {
    firstSeed: first ?? drawSeed(),
    runs: many,
    limitMs: limit === null && many !== null ? null : (limit ?? SECONDS) * 1000,
    tellsAll: first !== null,
  };
}

function parsed(args: readonly string[]): {
  readonly seconds?: string;
  readonly seed?: string;
  readonly runs?: string;
} {
  const options = { seconds: { type: 'string' }, seed: { type: 'string' }, runs: { type: 'string' } } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const usage = 'npm run fuzz -- [--seconds SECONDS] [--seed SEED] [--runs COUNT]';
    const [problem = ''] = messageOf(error).split(/\.?\n/);
    throw new PreduceError('bad-option', `${problem}: expected ${usage}`);
  }
}

/** Gives the exit status. Throws `bad-option`. */
export function fuzz(args: readonly string[], { write, nowMs, drawSeed, play }: FuzzDependencies): number {
  const { firstSeed, runs, limitMs, tellsAll } = optionsOf(args, drawSeed);
  const beganMs = nowMs();
  const tally = createTally();
  let toldMs = beganMs;
  let count = 0;
  let events = 0;
  const told = (): string => {
    const seconds = ((nowMs() - beganMs) / 1000).toFixed(0);
    return `${seconds} s: ${count} runs from seed ${firstSeed}, ${events} events`;
  };
  while ((runs === null || count < runs) && (limitMs === null || nowMs() - beganMs < limitMs)) {
    const played = play(drawScenario(firstSeed + count));
    count += 1;
    events += played.steps;
    addTally(tally, played.tally);
    if (played.failure !== null) {
      for (const line of describeFailure(played, tellsAll ? { lines: null } : {})) write(line);
      return 1;
    }
    if (nowMs() - toldMs < PROGRESS_MS) continue;
    toldMs = nowMs();
    write(told());
  }
  write(`${told()}: every rule was kept`);
  write(wordsOf(tally));
  return 0;
}

function wordsOf(tally: Tally): string {
  const words = Object.entries(tally).map(([name, count]) => {
    return `${count} ${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;
  });
  return `in them: ${words.join(', ')}`;
}
