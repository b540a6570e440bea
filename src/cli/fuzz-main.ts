/**
 * The program behind `npm run fuzz`. It is no command of `preduce`: it tests the controller, not a run.
 */
import { randomInt } from 'node:crypto';
import { PreduceError } from '../base/errors.js';
import { playScenario } from '../sim/faults/fleet.js';
import { fuzz } from './fuzz.js';

/** Room is left for the runs after the first. */
const FIRST_SEED_MAX = 2 ** 31;

try {
  const write = (line: string): void => console.log(line);
  process.exitCode = fuzz(process.argv.slice(2), {
    write,
    nowMs: () => performance.now(),
    drawSeed: () => randomInt(FIRST_SEED_MAX),
    play: playScenario,
  });
} catch (error) {
  if (!(error instanceof PreduceError)) throw error;
  console.error(`fuzz: ${error.message}`);
  process.exitCode = 2;
}
