/**
 * `preduce simulate` where it touches what is real: the record of a run that is played again, and gradients of the engine.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Replay } from '../../src/sim/replay.js';
import type { SimulationResult } from '../../src/sim/simulate.js';
import { openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

let workplace: Workplace;

beforeAll(async () => {
  workplace = await openWorkplace();
  await writeTinyDigits(workplace.path('digits'), { train: 2000, test: 200 });
});

afterAll(() => workplace.close());

async function simulated<T>(...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await workplace.run(['simulate', ...args, '--json']);
  if (code !== 0) throw new Error(`preduce simulate failed: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** The line that says why: with exit status 2 what was asked for is wrong, with 1 what was found. */
async function refusal(status: number, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await workplace.run(['simulate', ...args]);
  expect({ code, stdout }).toEqual({ code: status, stdout: '' });
  return stderr;
}
describe('simulate --replay', () => {
  beforeAll(async () => {
    const sizes = ['--workers', '3', '--steps', '45', '--batch-size', '16'];
    const run = ['train', '--strategy', 'all-reduce', '--data', 'digits', '--quiet', '--out', 'run'];
    const { code, stderr } = await workplace.run([...run, ...sizes]);
    if (code !== 0) throw new Error(`the run to play again failed: ${stderr}`);
  });

  it('plays a real run again', async () => {
    const { recorded, predicted, errors, modelBytes } = await simulated<Replay>('--replay', 'run');
    expect(predicted.groups).toBe(15);
    expect(predicted).toMatchObject({ groups: recorded.groups, localSteps: recorded.localSteps });
    expect(errors?.groups).toBe(0);
    // Loose, as runs of a moment on busy machines are: bench/replay-check.mjs is the check.
    expect(Math.abs(errors?.wallSeconds ?? 1)).toBeLessThan(0.5);
    // The parameters of mnist-mlp.
    expect(modelBytes).toBe(4 * 535_818);
  });

  it('shows what another strategy would have cost', async () => {
    const { code, stdout } = await workplace.run([
      'simulate',
      '--replay',
      'run',
      '--strategies',
      'all-reduce,local-sgd',
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^all-reduce in run, played again: 3 workers, 2\.1 MB exchanged/);
    expect(stdout).toMatch(/^local-sgd, predicted from all-reduce in run: 3 workers/m);
    expect(stdout).toMatch(/^groups +15 +2 +-86\.7 %$/m);
  });

  it('refuses what is no record of a run, and what the record says', async () => {
    await mkdir(workplace.path('empty'));
    await mkdir(workplace.path('strange'));
    await writeFile(workplace.path('strange/config.json'), '{"format":1,"trainer":"another"}');
    expect(await refusal(1, '--replay', 'nowhere')).toMatch(/^preduce: expected a run directory, got nowhere: /);
    expect(await refusal(1, '--replay', 'empty')).toMatch(/^preduce: expected empty to be a run directory with config/);
    expect(await refusal(1, '--replay', 'strange')).toMatch(
      /^preduce: --replay: expected the record of a training run/,
    );
    expect(await refusal(2, '--replay', 'run', '--compute', '3ms')).toMatch(
      /^preduce: --compute: expected none beside/,
    );
    expect(await refusal(2, '--replay', 'run', '--strategy', 'ps-asp')).toMatch(/expected a strategy without servers/);
  });
});

describe('simulate --problem mnist-mlp', () => {
  const options = [
    '--problem',
    'mnist-mlp',
    '--data',
    'digits',
    '--workers',
    '3',
    '--slow',
    'hl:2',
    '--batch-size',
    '32',
  ];

  it('trains by the engine, the same each time', async () => {
    const trained = [...options, '--steps', '60', '--lr', '.002', '--target-accuracy', '.95'];
    const [first, again] = [
      await simulated<SimulationResult>(...trained),
      await simulated<SimulationResult>(...trained),
    ];
    expect(again).toEqual(first);
    expect(first).toMatchObject({ problem: 'mnist-mlp', targetAccuracy: 0.95, targetLoss: null });
    expect(first.curve[0]?.accuracy).toBeLessThan(0.95);
    expect(first.testAccuracy).toBeGreaterThanOrEqual(0.95);
    expect(first.targetSeconds).toBeGreaterThan(0);
    const other = await simulated<SimulationResult>(...trained, '--seed', '2');
    expect(other.testLoss).not.toBe(first.testLoss);
  });

  it('refuses a problem that nobody knows, and data that are not there', async () => {
    expect(await refusal(2, '--problem', 'mnist-mpl')).toMatch(
      /unknown problem "mnist-mpl" \(did you mean mnist-mlp\?\)/,
    );
    expect(await refusal(2, '--data', 'digits')).toMatch(
      /^preduce: --data: expected a workload as --problem beside it/,
    );
    expect(await refusal(1, '--problem', 'mnist-mlp', '--data', 'nowhere')).toMatch(
      /^preduce: expected a folder with the/,
    );
  });
});
