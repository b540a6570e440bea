/**
 * What a person sees at a terminal, and what a file gets: the program under `script`, which gives it a pseudo-terminal, its
 * output on a screen that wraps and clears as a terminal does.
 */
import { execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/thorough.js';
import { createScreen, type Screen } from '../support/screen.js';
import { openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

const PROGRAM = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const RUN = '--data digits --batch-size 10 --workers 3 --steps 150';
/** Anything but line feeds. */
const CONTROL = /[^\P{Cc}\n]/u;

let place: Workplace;

beforeAll(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: 400, test: 50 });
});

afterAll(() => place.close());

/** Whether there is util-linux' `script`: others take other options. */
function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    return false;
  }
}

interface Seen {
  readonly code: number | null;
  /** At the end. */
  readonly screen: Screen;
  /** The screen after each piece of output in which a frame was drawn. */
  readonly frames: readonly (readonly string[])[];
}

/** Runs the program at a terminal of that size. */
async function watch(line: string, columns: number, rows = 40): Promise<Seen> {
  const command = `stty cols ${columns} rows ${rows}; exec '${process.execPath}' '${PROGRAM}' ${line}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: place.folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve);
    child.once('error', reject);
  });
  const screen = createScreen(columns, rows);
  const frames: string[][] = [];
  // Each frame ends by clearing what is below it.
  for (const piece of output.split(/(?<=\[J)/)) {
    screen.write(piece);
    if (piece.endsWith('[J')) frames.push(screen.text());
  }
  return { code, screen, frames };
}

describe.skipIf(!hasScript())('at a terminal', () => {
  it.each(someOf(1, [80, 120]))(
    'of %i columns a run fills its bar, wraps nothing and leaves its result',
    async (columns) => {
      const { code, screen, frames } = await watch(`train ${RUN} --out at-${columns}`, columns);
      expect(code).toBe(0);
      const pictures = frames.filter((frame) =>
        [0, 1, 2].every((worker) => frame.some((row) => row.startsWith(`worker ${worker} `))),
      );
      expect(pictures.length).toBeGreaterThan(2);
      for (const rows of pictures) {
        const picture = rows.slice(rows.findIndex((row) => row.startsWith('train   ')));
        expect(picture).toEqual([
          expect.stringMatching(/^train {3}.*\d+ groups$/),
          expect.stringMatching(/^[█░]{40,60} {3}\d+ % {3}\d+ s( {3}|$)/),
          expect.stringMatching(/^ +steps per s stale$/),
          ...[0, 1, 2].map((worker) => expect.stringMatching(new RegExp(`^worker ${worker} [█░]+ .*\\S$`))),
        ]);
      }
      const shares = pictures.map((rows) => Number(/ (\d+) % /.exec(rows.join('\n'))?.[1]));
      expect(shares).toEqual(shares.toSorted((a, b) => a - b));
      expect(shares.at(-1)).toBe(100);
      expect(screen).toMatchObject({ cursor: true, wraps: true });
      expect(screen.text()).toEqual([
        'starting 3 workers',
        expect.stringMatching(/^partial-reduce:dynamic: test accuracy .* after /),
        expect.stringMatching(/^ {2}\d+ local steps by 3 workers/),
        expect.stringMatching(/^ {2}waiting .* exchanged$/),
        expect.stringMatching(/^ {2}rho 0\.\d{3} measured; of uniform groups, \(N - P\)\/\(N - 1\): 0\.500$/),
        expect.stringMatching(/^ {2}model {3}/),
        expect.stringMatching(/^ {2}report {2}/),
      ]);
    },
  );

  it('of 80 columns a comparison leaves a line of each run, and its table in one piece', async () => {
    const { code, screen, frames } = await watch(
      `compare ${RUN} --strategies all-reduce,partial-reduce:constant --out table`,
      80,
    );
    expect(code).toBe(0);
    expect(frames.flat()).toContainEqual(expect.stringMatching(/^partial-reduce:constant {3}loss/));
    const rows = screen.text();
    expect(rows).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^all-reduce: \d+ s {3}loss .* test accuracy .* groups$/),
        expect.stringMatching(/^partial-reduce:constant: \d+ s {3}loss .* groups$/),
        expect.stringMatching(/^strategy +to .* speed-up +updates +ms\/update +accuracy +idle$/),
        expect.stringMatching(/^all-reduce +\S+.* \d+ %$/),
        expect.stringMatching(/^partial-reduce:constant +\S+.* \d+ %$/),
      ]),
    );
    expect(screen).toMatchObject({ cursor: true, wraps: true });
  });

  it('of few rows many workers take no more than there are', async () => {
    const { frames } = await watch(`train --data digits --batch-size 10 --workers 8 --steps 100 --out low`, 80, 8);
    const low = frames.filter((frame) => frame.some((row) => /^and \d+ more workers$/.test(row)));
    expect(low.length).toBeGreaterThan(0);
    for (const rows of low) expect(rows.slice(rows.findIndex((row) => row.startsWith('train   '))).length).toBe(7);
  });

  it('nothing but the result is shown with --quiet', async () => {
    const { screen, frames } = await watch(`train ${RUN} --quiet --out quiet`, 80);
    expect(frames).toEqual([]);
    expect(screen.text()[0]).toMatch(/^partial-reduce:dynamic: test accuracy/);
  });
});

describe('in a file', () => {
  it('there are lines without control characters', async () => {
    const { code, stdout, stderr } = await place.run(`train ${RUN} --out filed`.split(' '));
    expect(code).toBe(0);
    expect(stderr).toMatch(/^train: starting 3 workers\ntrain: started with 3 workers\n/);
    expect(stdout + stderr).not.toMatch(CONTROL);
  });

  it('a comparison has all columns', async () => {
    const { stdout, stderr } = await place.run(`compare ${RUN} --strategies all-reduce --out wide`.split(' '));
    expect(stdout).toMatch(/^strategy .* idle +total$/m);
    expect(stdout + stderr).not.toMatch(CONTROL);
  });
});
