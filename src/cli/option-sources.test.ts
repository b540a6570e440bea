/**
 * A command with one flag of each kind, its options from the command line, variables and a file.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageOf } from '../base/errors.js';
import { addConfigFlag, applySources, type Environment, unknownVariables, variableOf } from './option-sources.js';
import { collect, duration, wholeNumber } from './parse.js';
import { usageMessage } from './usage-message.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'preduce-sources-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface Sources {
  readonly typed?: string;
  readonly environment?: Environment;
  readonly yaml?: string;
}

function createProgram(): { readonly program: Command; readonly command: Command } {
  const program = new Command('preduce').exitOverride();
  const command = addConfigFlag(program.command('train'))
    .option('--workers <n>', '', wholeNumber('--workers'))
    .option('--group-size <p>', '', wholeNumber('--group-size'), 2)
    .option('--duration <time>', '', duration('--duration'))
    .option('--slow <spec>', '', collect)
    .option('--strategies <a,b>', '')
    .option('--quiet', '');
  program.command('compare').option('--repeat <r>', '');
  program.command('report').option('--out <file>', '');
  return { program, command };
}

/** The options as the action would see them, or the message that the user would. */
async function optionsOf({ typed = '', environment = {}, yaml }: Sources): Promise<unknown> {
  const { program, command } = createProgram();
  command.action(() => undefined);
  const file = join(folder, 'run.yaml');
  if (yaml !== undefined) await writeFile(file, yaml);
  const args = typed.split(' ').filter((part) => part !== '');
  await program.parseAsync(['train', ...args, ...(yaml === undefined ? [] : ['--config', file])], { from: 'user' });
  try {
    await applySources(command, environment);
  } catch (error) {
    return usageMessage(messageOf(error), command).replaceAll(file, 'run.yaml');
  }
  const { config: _config, ...options } = command.opts();
  return options;
}

const ALL = {
  typed: '--workers 1',
  environment: { PREDUCE_WORKERS: '2' },
  yaml: 'workers: 3',
};

describe('an option', () => {
  it.each<[string, Sources, object]>([
    ['is as typed over all else', ALL, { workers: 1 }],
    ['is as in the variable without that', { ...ALL, typed: '' }, { workers: 2 }],
    ['is as in the file without both', { yaml: ALL.yaml }, { workers: 3 }],
    ['is as typed over the file', { typed: ALL.typed, yaml: ALL.yaml }, { workers: 1 }],
    ['is as typed over the variable', { typed: ALL.typed, environment: ALL.environment }, { workers: 1 }],
    ['is not set by an empty variable', { environment: { PREDUCE_WORKERS: '' } }, {}],
    ['is the default without any', {}, {}],
    ['is as in the file over a default', { yaml: 'group-size: 3' }, { groupSize: 3 }],
    ['is as in a variable over a default', { environment: { PREDUCE_GROUP_SIZE: '4' } }, { groupSize: 4 }],
    ['is as typed, even where that is the default', { typed: '--group-size 2', yaml: 'group-size: 3' }, {}],
    ['is parsed as if it were typed', { yaml: 'duration: 2m' }, { duration: 120_000 }],
    ['that is a switch is on by a file', { yaml: 'quiet: true' }, { quiet: true }],
    ['that is a switch is on by a variable', { environment: { PREDUCE_QUIET: '1' } }, { quiet: true }],
    [
      'that is a switch is off again by a variable',
      { yaml: 'quiet: true', environment: { PREDUCE_QUIET: '0' } },
      { quiet: false },
    ],
    ['may be repeated in a file', { yaml: 'slow: ["hl:3", "straggler:3,4"]' }, { slow: ['hl:3', 'straggler:3,4'] }],
    ['that may be repeated may stand once', { yaml: 'slow: hl:3' }, { slow: ['hl:3'] }],
    [
      'may be repeated in a variable',
      { environment: { PREDUCE_SLOW: 'hl:3; random:.1,1s' } },
      { slow: ['hl:3', 'random:.1,1s'] },
    ],
    [
      'that is repeated is not mixed with that of a file',
      { typed: '--slow hl:2', yaml: 'slow: hl:3' },
      { slow: ['hl:2'] },
    ],
    [
      'that is repeated is not mixed with that of a file either',
      { environment: { PREDUCE_SLOW: 'hl:2' }, yaml: 'slow: hl:3' },
      { slow: ['hl:2'] },
    ],
    ['with commas may be a list', { yaml: 'strategies: [x, y]' }, { strategies: 'x,y' }],
    ['with commas may be a text', { yaml: 'strategies: x,y' }, { strategies: 'x,y' }],
    ['of another command may be in a variable', { environment: { PREDUCE_REPEAT: '2' } }, {}],
  ])('%s', async (_name, sources, expected) => {
    expect(await optionsOf(sources)).toEqual({ groupSize: 2, ...expected });
  });

  it.each<[string, Sources, string]>([
    [
      'a wrong type in a file',
      { yaml: 'workers: two' },
      '--workers: expected a whole number, got "two" (workers in run.yaml)',
    ],
    [
      'a wrong type in a variable',
      { environment: { PREDUCE_WORKERS: 'two' } },
      '--workers: expected a whole number, got "two" (PREDUCE_WORKERS)',
    ],
    [
      'a wrong type in a file that a flag overrides',
      { typed: '--workers 1', yaml: 'workers: two' },
      '--workers: expected a whole number, got "two" (workers in run.yaml)',
    ],
    [
      'a wrong type in a variable beside a good file',
      { environment: { PREDUCE_WORKERS: 'two' }, yaml: 'workers: 2' },
      '--workers: expected a whole number, got "two" (PREDUCE_WORKERS)',
    ],
    [
      'a list where one value belongs',
      { yaml: 'workers: [1, 2]' },
      'run.yaml: workers: expected one value, got a list of 2',
    ],
    ['a word for a switch', { yaml: 'quiet: yes' }, '--quiet: expected true or false, got "yes" (quiet in run.yaml)'],
    ['a list for a switch', { yaml: 'quiet: [true]' }, 'run.yaml: quiet: expected one value, got a list of 1'],
    [
      'a key with an underscore',
      { yaml: 'workers: 2\ngroup_size: 3' },
      'run.yaml: unknown key "group_size" in line 2 (did you mean group-size?); see `preduce train --help`',
    ],
    [
      'a key with dashes before it',
      { yaml: '--workers: 2' },
      'run.yaml: unknown key "--workers" in line 1 (did you mean workers?); see `preduce train --help`',
    ],
    [
      'a key like no other',
      { yaml: 'colour: red' },
      'run.yaml: unknown key "colour" in line 1; see `preduce train --help`',
    ],
    [
      'a key of another command',
      { yaml: 'repeat: 2' },
      'run.yaml: unknown key "repeat" in line 1 (it belongs to compare); see `preduce train --help`',
    ],
    [
      'a file in a file',
      { yaml: 'config: other.yaml' },
      'run.yaml: unknown key "config" in line 1; see `preduce train --help`',
    ],
    [
      'a key of the language',
      { yaml: 'constructor: 1' },
      'run.yaml: unknown key "constructor" in line 1; see `preduce train --help`',
    ],
    [
      'a file that is not there',
      { environment: { PREDUCE_CONFIG: '/nowhere/run.yaml' } },
      `--config: expected a readable file of options, got "ENOENT: no such file or directory, stat '/nowhere/run.yaml'" (PREDUCE_CONFIG)`,
    ],
  ])('is refused with %s', async (_name, sources, message) => {
    expect(await optionsOf(sources)).toBe(message);
  });

  it('is read from the file that a variable names', async () => {
    await writeFile(join(folder, 'other.yaml'), 'workers: 9');
    const environment = { PREDUCE_CONFIG: join(folder, 'other.yaml') };
    expect(await optionsOf({ environment })).toMatchObject({ workers: 9 });
    expect(await optionsOf({ environment, yaml: 'duration: 1s' })).toEqual({ groupSize: 2, duration: 1000 });
  });
});

it('leaves commands alone that have no --config', async () => {
  const { program } = createProgram();
  const report = program.commands.find((command) => command.name() === 'report') as Command;
  expect(await applySources(report, { PREDUCE_OUT: 'x' })).toBe(false);
  expect(report.opts()).toEqual({});
});

describe('unknown variables', () => {
  it.each<[Environment, string | null]>([
    [{}, null],
    [{ HOME: '/', PREDUCE: '1', PREDUCE_WORKERS: '2', PREDUCE_REPEAT: '2', PREDUCE_CONFIG: 'x' }, null],
    [
      { PREDUCE_GROUPSIZE: '2' },
      'ignored, as there is no such option: PREDUCE_GROUPSIZE (did you mean PREDUCE_GROUP_SIZE?)',
    ],
    [
      { PREDUCE_XYZZY: '1', PREDUCE_WORKES: '2' },
      'ignored, as there is no such option: PREDUCE_WORKES (did you mean PREDUCE_WORKERS?), PREDUCE_XYZZY',
    ],
  ])('%j', (environment, line) => {
    expect(unknownVariables(createProgram().program, environment)).toBe(line);
  });

  it('are named as flags are', () => {
    expect(variableOf('--connectivity-groups')).toBe('PREDUCE_CONNECTIVITY_GROUPS');
  });
});
