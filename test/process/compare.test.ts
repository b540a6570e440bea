/**
 * `preduce compare` with tuning, as a user types it: what each strategy is run with, what lies in the directory, what a report
 * of it shows, and that what was found can be used again.
 */
import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

const SIZES = ['--data', 'digits', '--batch-size', '10', '--workers', '2', '--steps', '60', '--evaluate-every', '50'];
const RUN = ['compare', ...SIZES, '--strategies', 'eager-reduce:solo', '--target-accuracy', '.5', '--stop-at-target'];

interface Tuned {
  readonly learningRate: number;
  readonly trials: readonly { readonly learningRate: number }[];
}

interface Entry {
  readonly label: string;
  readonly tuned?: Tuned;
  readonly localSteps: number;
  readonly updates: number;
  readonly updatesToTarget: number | null;
  readonly runs: readonly { readonly seed: number }[];
}

let place: Workplace;

beforeAll(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: 400, test: 50 });
});

afterAll(() => place.close());

async function readJson(name: string): Promise<unknown> {
  return JSON.parse(await readFile(place.path(name), 'utf8'));
}

describe('preduce compare --tune', () => {
  it('takes for each strategy the rate that is soonest at the target, and keeps how it was found', async () => {
    const { code, stdout, stderr } = await place.run([...RUN, '--tune', 'lr=.00001,.1', '--out', 'tuned', '--json']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^compare: eager-reduce:solo: learning rate 0\.1 \(target after .*\)$/m);
    const [entry] = JSON.parse(stdout) as [Entry];
    expect(entry).toMatchObject({ label: 'eager-reduce:solo', runs: [{ seed: 1 }], tuned: { learningRate: 0.1 } });
    expect(entry.tuned?.trials.map(({ learningRate }) => learningRate)).toEqual([0.00001, 0.1]);
    expect(entry.localSteps).toBeLessThan(60);
    expect(entry.updatesToTarget).toBeLessThanOrEqual(entry.updates);

    expect((await readdir(place.path('tuned'))).toSorted()).toEqual([
      'compare.json',
      'eager-reduce-solo',
      'report.html',
      'tuning',
      'tuning.json',
    ]);
    expect((await readdir(place.path('tuned/tuning'))).toSorted()).toEqual([
      'eager-reduce-solo-0.00001',
      'eager-reduce-solo-0.1',
    ]);
    expect(await readJson('tuned/tuning/eager-reduce-solo-0.1/config.json')).toMatchObject({
      training: { seed: 1001 },
    });
    expect(await readJson('tuned/eager-reduce-solo/config.json')).toMatchObject({ training: { learningRate: 0.1 } });
    expect(await readJson('tuned/tuning.json')).toMatchObject({ work: 'mnist-mlp', seed: 1001 });

    const first = await readFile(place.path('tuned/report.html'), 'utf8');
    expect(first).toContain('Test accuracy at the target');
    expect(first).toContain('id="tuning"');
    // Made anew from the directory it tells the same, and nothing of the runs that only tuned
    expect(await place.run(['report', 'tuned', '--out', 'again.html'])).toMatchObject({ code: 0, stderr: '' });
    const again = await readFile(place.path('again.html'), 'utf8');
    const sectionsOf = (page: string): string => page.slice(page.indexOf('id="results"'), page.indexOf('id="shares"'));
    expect(sectionsOf(again)).toBe(sectionsOf(first));
  });

  it('is not needed again for what was found', async () => {
    const { code, stdout, stderr } = await place.run([...RUN, '--tuned', 'tuned/tuning.json', '--out', 'measured']);
    expect(code).toBe(0);
    expect(stderr).not.toContain('tuning');
    expect(stdout).toMatch(/^eager-reduce:solo +0\.1 +/m);
    expect(await readdir(place.path('measured'))).not.toContain('tuning');
  });
});
