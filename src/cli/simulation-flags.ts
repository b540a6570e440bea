/**
 * The flags of `compare --simulate`: those of `simulate` beside those of a real run. Where both have one it is the same; one
 * that only the other has is refused, rather than ignored.
 */
import { Command } from 'commander';
import { PreduceError } from '../base/errors.js';
import { isGiven } from './option-sources.js';
import { addRunFlags } from './run-flags.js';
import { addSimulationFlags, type SimulateFlags } from './simulate.js';

const HEADING = 'With --simulate:';

/** Of `simulate` alone: a comparison names several. */
const LEFT_OUT: ReadonlySet<string> = new Set(['--strategy']);

/** Of runs, but of no part of training: they say where results go. */
const OF_BOTH: ReadonlySet<string> = new Set(['--config', '--out', '--json', '--quiet', '--debug']);

function namesOf(command: Command): ReadonlySet<string> {
  return new Set(command.options.map(({ long }) => long ?? ''));
}

/** Adds what `simulate` has and the command has not, under a heading of their own. */
export function addMissingSimulationFlags(command: Command): Command {
  const known = namesOf(command);
  for (const option of addSimulationFlags(new Command()).options) {
    const name = option.long ?? '';
    if (!known.has(name) && !LEFT_OUT.has(name)) command.addOption(option.helpGroup(HEADING));
  }
  return command;
}

/** Throws `bad-option` for a flag that was given, from wherever, and has no meaning for what is compared. */
export function checkMeaning(command: Command, isSimulated: boolean): void {
  const ofRuns = namesOf(addRunFlags(new Command()));
  const ofSimulations = namesOf(addSimulationFlags(new Command()));
  for (const option of command.options) {
    const name = option.long ?? '';
    if (!isGiven(command, option.attributeName()) || OF_BOTH.has(name)) continue;
    if (isSimulated && ofRuns.has(name) && !ofSimulations.has(name)) {
      throw new PreduceError(
        'bad-option',
        `${name}: expected none beside --simulate: no simulation has it, leave it out`,
      );
    }
    if (!isSimulated && ofSimulations.has(name) && !ofRuns.has(name) && name !== '--strategies') {
      throw new PreduceError('bad-option', `${name}: expected --simulate beside it: only simulations have it`);
    }
  }
}

/** Those of the given flags that a simulation has; defaults of a real run are not its own. */
export function simulationFlagsOf(command: Command): SimulateFlags {
  const names = addSimulationFlags(new Command()).options.map((option) => option.attributeName());
  const given = names.filter((name) => isGiven(command, name));
  return Object.fromEntries(given.map((name) => [name, command.getOptionValue(name) as unknown]));
}
