import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { usageMessage } from './usage-message.js';

const command = new Command('compare')
  .option('--alpha <a>')
  .option('--liveness <time>')
  .option('--connectivity-groups <t>')
  .option('--workload <name>')
  .option('--strategies <a,b>');

describe('a message about an option', () => {
  it.each([
    ['alpha: expected less, got 1', '--alpha: expected less, got 1'],
    ['liveness: expected a time above 0, got 0 ms', '--liveness: expected a time above 0, got 0 ms'],
    ['connectivity groups: expected 1', '--connectivity-groups: expected 1'],
    ['unknown workload "x": expected y', '--workload: unknown workload "x": expected y'],
    ['unknown strategy "x": expected y', '--strategies: unknown strategy "x": expected y'],
    ['--alpha: expected less', '--alpha: expected less'],
    // No option of this command.
    ['term: expected 1', 'term: expected 1'],
    ['unknown filter "x"', 'unknown filter "x"'],
    ['alpha is wrong', 'alpha is wrong'],
  ])('%s', (message, shown) => {
    expect(usageMessage(message, command)).toBe(shown);
  });
});
