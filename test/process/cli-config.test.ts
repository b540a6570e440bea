/**
 * Options from the command line, from PREDUCE_* variables and from a file, as a whole run sees them.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorkplace, type Variables, type Workplace, writeTinyDigits } from './cli-run.js';

let place: Workplace;

beforeAll(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: 400, test: 50 });
  await writeFile(
    place.path('run.yaml'),
    'data: digits\nbatch-size: 10\nworkers: 2\nsteps: 20\nseed: 3\nlr: .02\nquiet: true\n',
  );
});

afterAll(() => place.close());

describe('a run', () => {
  it('is as its file says, where variables and flags say nothing else', async () => {
    const variables: Variables = {
      PREDUCE_SEED: '4',
      PREDUCE_LR: '.03',
      PREDUCE_DATA: 'digits',
      PREDUCE_TOKEN_FILE: 'none',
    };
    const args = ['train', '--config', 'run.yaml', '--lr', '.04', '--out', 'run', '--json'];
    const { code, stdout, stderr } = await place.run(args, undefined, variables);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // 20 steps stand in the file only, the seed in both, the rate everywhere.
    expect(JSON.parse(stdout)).toMatchObject({ workers: 2, localSteps: 20, seed: 4 });
    const config = JSON.parse(await readFile(place.path('run/config.json'), 'utf8')) as object;
    expect(JSON.stringify(config)).toContain('"learningRate":0.04');
  });

  it('does not hand variables on to its workers', async () => {
    // In a worker PREDUCE_DATA would stand over what the run says.
    const variables: Variables = { PREDUCE_DATA: 'nowhere', PREDUCE_CONTROLLER: 'ws://127.0.0.1:1' };
    const args = ['train', '--config', 'run.yaml', '--data', 'digits', '--out', 'other'];
    expect(await place.run(args, undefined, variables)).toMatchObject({ code: 0, stderr: '' });
  });

  it('may be compared by the same file', async () => {
    const args = ['compare', '--config', 'run.yaml', '--strategies', 'all-reduce', '--out', 'compared', '--json'];
    const { code, stdout, stderr } = await place.run(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject([{ strategy: 'all-reduce', seed: 3, localSteps: 20 }]);
  });

  it('may be served and joined by files and variables', async () => {
    await writeFile(place.path('serve.yaml'), 'workload: mnist-mlp\nport: 0\nout: served\n');
    const serving = place.start(['controller', '--config', 'serve.yaml'], undefined, {
      PREDUCE_DATA: 'digits',
      PREDUCE_BATCH_SIZE: '10',
      PREDUCE_WORKERS: '1',
      PREDUCE_STEPS: '5',
    });
    const [, url = ''] = await serving.said(/listening at (ws:\S+),/);
    const worker = await place.run(['worker'], undefined, { PREDUCE_CONTROLLER: url, PREDUCE_DATA: 'digits' });
    expect(worker).toMatchObject({ code: 0, stderr: '' });
    expect(await serving.ended).toMatchObject({ code: 0 });
  });
});

describe('a variable of no option', () => {
  it('is told of once, and ignored', async () => {
    const { code, stderr } = await place.run(['train', '--config', 'run.yaml', '--out', 'warned'], undefined, {
      PREDUCE_GROUPSIZE: '7',
      PREDUCE_XYZZY: '1',
    });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'preduce: ignored, as there is no such option: PREDUCE_GROUPSIZE (did you mean PREDUCE_GROUP_SIZE?), PREDUCE_XYZZY\n',
    });
  });
});

describe.concurrent('is refused in one line with status 2 and nothing written:', () => {
  it.each<[string, string, Variables, unknown]>([
    [
      'a key that is wrong',
      'group_size: 3',
      {},
      'bad.yaml: unknown key "group_size" in line 1 (did you mean group-size?); see `preduce train --help`',
    ],
    [
      'a value of the wrong type',
      'workers: two',
      {},
      '--workers: expected a whole number, got "two" (workers in bad.yaml)',
    ],
    [
      'a value that cannot be meant',
      'workers: 0',
      {},
      '--workers: expected a whole number of at least 1, got 0 (workers in bad.yaml)',
    ],
    [
      'a setting of the core',
      'alpha: 1',
      {},
      '--alpha: expected a number between 0 and 1 (both excluded), got 1 (alpha in bad.yaml)',
    ],
    [
      'a variable that cannot be meant',
      'workers: 2',
      { PREDUCE_ALPHA: '1' },
      '--alpha: expected a number between 0 and 1 (both excluded), got 1 (PREDUCE_ALPHA)',
    ],
    [
      'a name',
      'workload: mnist-mpl',
      {},
      expect.stringMatching(/^--workload: unknown workload "mnist-mpl" .* \(workload in bad\.yaml\)$/),
    ],
    ['a list', 'lr: [.1, .2]', {}, 'bad.yaml: lr: expected one value, got a list of 2'],
    ['no YAML', 'workers: [', {}, expect.stringMatching(/^bad\.yaml: expected YAML, got in line 1, column \d+: /)],
  ])('%s', async (name, yaml, variables, message) => {
    const folder = place.path(name.replaceAll(' ', '-'));
    await mkdir(folder);
    await writeFile(`${folder}/bad.yaml`, yaml);
    const { code, stdout, stderr } = await place.run(['train', '--config', 'bad.yaml'], folder, variables);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const [, said] = /^preduce: (.*)\n$/.exec(stderr) ?? [];
    expect(said).toEqual(message);
    expect(await readdir(folder)).toEqual(['bad.yaml']);
  });
});
