/**
 * Flags of how workers are grouped and weighted, and of parameter servers: of runs and of simulations.
 */
import type { Command } from 'commander';
import { FILTER_NAMES, WEIGHTINGS } from '../core/config.js';
import { oneOf, realNumber, wholeNumber, wholeNumberOrAuto } from './parse.js';

/** They give `GroupingOptions`, under the same names. */
export function addGroupingFlags(command: Command): Command {
  return command
    .option(
      '--weights <rule>',
      'weights in a group: dynamic (default) or constant',
      oneOf('--weights', ['dynamic', 'constant'] as const),
    )
    .option(
      '--weighting <rule>',
      'equal (default), or samples: weights times the samples since the last group',
      oneOf('--weighting', WEIGHTINGS),
    )
    .option('--alpha <a>', 'staleness decay of the dynamic weights (default: 0.9)', realNumber('--alpha'))
    .option(
      '--gap <rule>',
      'mass of absent ages: freshest (default) or initial',
      oneOf('--gap', ['freshest', 'initial'] as const),
    )
    .option(
      '--filter <name>',
      "keeps groups connected: epoch (default), window (the paper's) or none",
      oneOf('--filter', FILTER_NAMES),
    )
    .option(
      '--connectivity-groups <t>',
      'groups within which all workers must connect (default: auto, more where one worker is slow)',
      wholeNumberOrAuto('--connectivity-groups'),
    );
}

export function addServerFlags(command: Command): Command {
  return command
    .option('--servers <s>', 'parameter servers of the ps strategies (default: 1)', wholeNumber('--servers'))
    .option(
      '--staleness <s>',
      'ps-ssp: iterations that a worker may be ahead of the slowest (default: 3)',
      wholeNumber('--staleness'),
    )
    .option(
      '--backups <b>',
      'ps-backup: gradients that a round does not wait for (default: 1)',
      wholeNumber('--backups'),
    );
}
