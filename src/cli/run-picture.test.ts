import { describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import { bar, clock, drawRun, type RunPicture } from './run-picture.js';

const worker = (number: number, more: Partial<RunPicture['workers'][number]> = {}): RunPicture['workers'][number] => ({
  worker: workerId(number),
  state: 'computing',
  k: 10,
  localSteps: 136,
  iterationMedianMs: 46,
  waitReason: null,
  ...more,
});

const PICTURE: RunPicture = {
  label: 'train',
  goal: { samples: null, localSteps: null, timeMs: 14_000 },
  start: { samples: 0, localSteps: 0, timeMs: 0 },
  now: { samples: 5000, localSteps: 170, timeMs: 7000 },
  groups: 236,
  loss: 0.2264,
  accuracy: 0.94381,
  ending: null,
  workers: [
    worker(1, { localSteps: 68, k: 7, state: 'queued', waitReason: 'waiting 1/2: worker 0 computing for 4.1 s' }),
    worker(0),
  ],
};

describe('the picture of a run', () => {
  it.each([
    [
      79,
      [
        'train   loss 0.226   test accuracy 94.38 %   236 groups',
        `${'█'.repeat(23)}${'░'.repeat(23)}   50 %   7 s   7 s left`,
        '                steps per s stale',
        'worker 0 ██████   136  21.7     0  computing',
        'worker 1 ███░░░    68  21.7     3  waiting 1/2: worker 0 computing for 4.1 s',
      ],
    ],
    [
      119,
      [
        'train   loss 0.226   test accuracy 94.38 %   236 groups',
        `${'█'.repeat(30)}${'░'.repeat(30)}   50 %   7 s   7 s left`,
        '                                  steps per s stale',
        `worker 0 ${'█'.repeat(24)}   136  21.7     0  computing`,
        `worker 1 ${'█'.repeat(12)}${'░'.repeat(12)}    68  21.7     3  waiting 1/2: worker 0 computing for 4.1 s`,
      ],
    ],
    [
      30,
      [
        'train   loss 0.226   test acc…',
        '50 %   7 s   7 s left',
        '                steps per s s…',
        'worker 0 ██████   136  21.7   …',
        'worker 1 ███░░░    68  21.7   …',
      ].map((line) => (line.length > 30 ? `${line.slice(0, 29)}…` : line)),
    ],
  ])('in %i columns', (columns, lines) => {
    expect(drawRun(PICTURE, { columns, rows: 23 })).toEqual(lines);
  });

  it.each([
    [2, 2, / left$/],
    [4, 4, /^and 8 more workers$/],
    [6, 6, /^and 6 more workers$/],
    [10, 10, /^and 2 more workers$/],
    [11, 11, /^worker 7 /],
    [23, 11, /^worker 7 /],
  ])('has no more than %i lines where there is no room for more', (rows, lines, last) => {
    const workers = Array.from({ length: 8 }, (_, number) => worker(number));
    const drawn = drawRun({ ...PICTURE, workers }, { columns: 79, rows });
    expect(drawn).toHaveLength(lines);
    expect(drawn.at(-1)).toMatch(last);
  });

  it.each<[string, Partial<RunPicture>, string, RegExp]>([
    ['without an end', { goal: { samples: null, localSteps: null, timeMs: null } }, '5000 samples   7 s', /^5000/],
    ['by steps', { goal: { samples: null, localSteps: 340, timeMs: null } }, '50 %   7 s   7 s left', /^█{23}░{23} /],
    [
      'by samples',
      { goal: { samples: 20_000, localSteps: null, timeMs: null } },
      '25 %   7 s   21 s left',
      /^█{12}░{34} /,
    ],
    ['that is over', { ending: 'evaluating the model' }, '50 %   7 s   evaluating the model', /^█+░+ /],
    [
      'at its start',
      { now: PICTURE.start, goal: { samples: 9, localSteps: null, timeMs: null } },
      '0 %   0 s',
      /^░{46} /,
    ],
  ])('of one %s', (_name, changes, way, start) => {
    const [, line = ''] = drawRun({ ...PICTURE, ...changes }, { columns: 79, rows: 23 });
    expect(line.endsWith(way)).toBe(true);
    expect(line).toMatch(start);
  });

  it('of one that has no workers, no loss and no accuracy yet', () => {
    const lines = drawRun(
      { ...PICTURE, loss: null, accuracy: null, groups: 0, workers: [] },
      { columns: 79, rows: 23 },
    );
    expect(lines).toEqual(['train   0 groups', expect.stringMatching(/7 s left$/)]);
  });

  it('of a worker before its first step', () => {
    const workers = [worker(10, { localSteps: 0, k: 0, iterationMedianMs: null })];
    expect(drawRun({ ...PICTURE, workers }, { columns: 79, rows: 23 }).at(-1)).toBe(
      'worker 10 ░░░░░░     0     -     0  computing',
    );
  });
});

it.each([
  [0, 4, '░░░░'],
  [0.5, 4, '██░░'],
  [1, 4, '████'],
  [1.5, 4, '████'],
  [-1, 4, '░░░░'],
  [0.5, 0, ''],
])('bar(%d, %i)', (share, columns, drawn) => {
  expect(bar(share, columns)).toBe(drawn);
});

it.each([
  [0, '0 s'],
  [59_400, '59 s'],
  [60_000, '1 min 0 s'],
  [3_599_400, '59 min 59 s'],
  [7_500_000, '2 h 5 min'],
])('clock(%i)', (milliseconds, text) => {
  expect(clock(milliseconds)).toBe(text);
});
