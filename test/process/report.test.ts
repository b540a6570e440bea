/**
 * `preduce report` as users run it, on the record of a real run: the page, and one line for each way to ask wrongly.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeTinyDigits } from './cli-run.js';

const PROGRAM = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program to its end; it must end by itself, which a chart that was not disposed of would prevent. */
async function preduce(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [PROGRAM, ...args], (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error ?? new Error('no exit status'));
    });
  });
}

let folder: string;
let run: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'preduce-report-'));
  run = join(folder, 'run');
  const digits = join(folder, 'digits');
  await writeTinyDigits(digits, { train: 2000, test: 200 });
  const sizes = ['--workers', '3', '--steps', '60', '--batch-size', '32'];
  const trained = await preduce('train', '--data', digits, ...sizes, '--quiet', '--out', run);
  if (trained.code !== 0) throw new Error(`the run to report on failed: ${trained.stderr}`);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function copyOfRun(name: string): Promise<string> {
  const copy = join(folder, name);
  await cp(run, copy, { recursive: true });
  return copy;
}

describe('preduce report', () => {
  it('writes one page into the run directory, with every picture', async () => {
    const copy = await copyOfRun('fresh');
    await rm(join(copy, 'report.html'));
    expect(await preduce('report', copy)).toEqual({ code: 0, stdout: `${join(copy, 'report.html')}\n`, stderr: '' });
    const page = await readFile(join(copy, 'report.html'), 'utf8');
    for (const id of ['accuracy', 'loss', 'timeline-0', 'meetings-0', 'staleness-chart']) {
      expect(page).toContain(`<title id="${id}-title">`);
    }
    expect(page).not.toMatch(/<script|https?:\/\/(?!www\.w3\.org\/2000\/svg")|NaN|undefined/);
  });

  it('tells what the summary of the run tells', async () => {
    const out = join(folder, 'page.html');
    await preduce('report', run, '--out', out);
    const summary = JSON.parse(await readFile(join(run, 'summary.json'), 'utf8')) as {
      readonly updates: number;
      readonly testAccuracy: number;
      readonly stepsPerWorker: readonly number[];
    };
    const page = await readFile(out, 'utf8');
    expect(page).toContain(`<td class="nowrap">${summary.updates}</td>`);
    expect(page).toContain(`<td class="nowrap">${(100 * summary.testAccuracy).toFixed(2)}%</td>`);
    const [first] = summary.stepsPerWorker;
    const isEven = summary.stepsPerWorker.every((steps) => steps === first);
    expect(page).toContain(isEven ? `${first} each` : summary.stepsPerWorker.join(' · '));
  });

  it('puts several runs on one page', async () => {
    const out = join(folder, 'two.html');
    expect(await preduce('report', run, await copyOfRun('second'), '--out', out)).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await readFile(out, 'utf8')).toContain('All numbers are medians of 2 runs.');
    for (const name of ['some/one', 'some/two']) await copyOfRun(name);
    const some = join(folder, 'some');
    expect(await preduce('report', some)).toEqual({ code: 0, stdout: `${join(some, 'report.html')}\n`, stderr: '' });
    expect(await readFile(join(some, 'report.html'), 'utf8')).toContain('All numbers are medians of 2 runs.');
  });

  it('uses what is whole of a record that was cut off, and says so', async () => {
    const copy = await copyOfRun('cut');
    const events = await readFile(join(copy, 'events.jsonl'));
    await truncate(join(copy, 'events.jsonl'), Math.floor(events.length / 2));
    const { code, stderr } = await preduce('report', copy);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^preduce: The record of cut is not whole \(.*\n$/);
    expect(await readFile(join(copy, 'report.html'), 'utf8')).toContain('The record of cut is not whole');
  });

  it.each<[string, () => Promise<readonly string[]>, number, RegExp]>([
    ['no such directory', async () => [join(folder, 'nowhere')], 1, /nowhere: no such directory/],
    ['no run directory', async () => [await mkdtemp(join(folder, 'empty-'))], 1, /has a config\.json/],
    [
      'a run of a newer format',
      async () => {
        const copy = await copyOfRun('newer');
        await writeFile(join(copy, 'config.json'), '{"format":1000}');
        return [copy];
      },
      1,
      /got format 1000: a newer Preduce wrote it/,
    ],
    ['a page that cannot be written', async () => [run, '--out', join(folder, 'no', 'page.html')], 1, /another --out/],
    ['no directory at all', async () => [], 2, /missing required argument/],
    ['an unknown flag', async () => [run, '--ouf', 'x'], 2, /--ouf/],
  ])('ends with one line for %s', async (_, argsOf, code, line) => {
    const outcome = await preduce('report', ...(await argsOf()));
    expect(outcome).toMatchObject({ code, stdout: '' });
    expect(outcome.stderr).toMatch(/^preduce: [^\n]+\n$/);
    expect(outcome.stderr).toMatch(line);
  });
});
