import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { groupId, workerId } from '../base/ids.js';
import type { RunEvent } from '../observe/run-events.js';
import { createRunRecord } from '../observe/run-record.js';
import { loadReport, mergeFacts } from './load-report.js';
import { renderReport } from './render-report.js';

const A = workerId(0);
const B = workerId(1);
const group = groupId(1, 1);
const members = [A, B];
const step = { k: 1, samples: 10, loss: 0.5, finite: true, computeMs: 5, paddingMs: 0 };
const EVENTS: readonly RunEvent[] = [
  { type: 'started', timeMs: 0, workers: members },
  { type: 'ready', timeMs: 10, worker: A, overrun: true, ...step },
  { type: 'ready', timeMs: 20, worker: B, overrun: false, ...step },
  { type: 'groupFormed', timeMs: 20, group, kind: 'step', members, weights: [0.5, 0.5], staleness: [0, 1], kMax: 1 },
  { type: 'reduced', timeMs: 30, group, worker: A, bytesSent: 7, reduceMs: 10 },
  { type: 'reduced', timeMs: 30, group, worker: B, bytesSent: 7, reduceMs: 10 },
  { type: 'groupClosed', timeMs: 30, group, kind: 'step', committed: members, aborted: false },
  {
    type: 'evaluated',
    timeMs: 30,
    mark: 1,
    final: false,
    samples: 20,
    localSteps: 2,
    loss: 1,
    accuracy: 0.5,
    replicas: 2,
    cpuMs: 1,
  },
  {
    type: 'runEnded',
    timeMs: 40,
    reason: 'done',
    holders: members,
    samples: 20,
    localSteps: 2,
    rho: 0.5,
    maxGroupsToConnect: 1,
    holdMs: 0,
    holdsExpired: 0,
  },
];

const training = { workerCount: 2, seed: 3, referenceMs: 4, learningRate: 0.1 };
const core = { strategy: 'partial-reduce', groupSize: 2, weights: { rule: 'dynamic' }, minWorkers: 2, seed: 3 };
const CONFIG = { label: 'mine', core, training, targetAccuracy: 0.9, settings: [{ name: 'Workload', value: 'x' }] };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'preduce-report-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function writeRun(name: string, config: Record<string, unknown> = CONFIG, events = EVENTS): Promise<string> {
  const record = await createRunRecord({ directory: join(folder, name), config });
  for (const event of events) record.append(event);
  await record.close();
  return record.directory;
}

describe('loadReport', () => {
  it('makes everything of a run from its record', async () => {
    const directory = await writeRun('run');
    const input = await loadReport([directory]);
    expect(input).toMatchObject({
      targetAccuracy: 0.9,
      referenceMs: 4,
      idealSpeedUp: null,
      notes: [],
      settings: [{ name: 'Workload', value: 'x' }],
      environment: [],
    });
    expect(input.runs).toMatchObject([
      {
        label: 'mine',
        overrunShare: 0.5,
        evaluations: [{ accuracy: 0.5 }],
        workerTimes: [{ worker: 0 }, { worker: 1 }],
        summary: { strategy: 'partial-reduce', weights: 'dynamic', seed: 3, updates: 1, bytesSent: 14, rho: 0.5 },
        structure: { meetings: { groups: 1 }, staleness: { counts: [1, 1] }, timeline: { startMs: 0 } },
      },
    ]);
    expect(renderReport(input)).toContain('Training run: mine');
  });

  it('takes repeats together, whatever their seeds and reference times', async () => {
    const first = await writeRun('one');
    const second = await writeRun('two', {
      ...CONFIG,
      core: { ...core, seed: 4 },
      training: { ...training, seed: 4, referenceMs: 5 },
    });
    const input = await loadReport([first, second, first]);
    expect(input.runs.map((run) => run.label)).toEqual(['mine', 'mine']);
    expect(input.referenceMs).toBeNull();
  });

  it('tells runs of one name and other settings apart by their directories', async () => {
    const other = { ...CONFIG, training: { ...training, learningRate: 0.2 } };
    const directories = [
      await writeRun('one'),
      await writeRun('two', other),
      await writeRun('three', { ...CONFIG, label: 'x' }),
    ];
    expect((await loadReport(directories)).runs.map((run) => run.label)).toEqual(['mine (one)', 'mine (two)', 'x']);
    const namesake = await writeRun('deep/one', other);
    expect((await loadReport([directories[0] as string, namesake])).runs.map((run) => run.label)).toEqual([
      `mine (${directories[0]})`,
      `mine (${namesake})`,
    ]);
  });

  it('reads a comparison in its own order, and says which runs are gone', async () => {
    for (const label of ['b', 'a', 'late']) await writeRun(`compare/${label}`, { ...CONFIG, label });
    const told = ['b', 'gone', 'a'].map((name) => ({ runs: [{ out: `/elsewhere/${name}` }] }));
    await writeFile(join(folder, 'compare', 'compare.json'), JSON.stringify({ idealSpeedUp: 3.25, entries: told }));
    await mkdir(join(folder, 'compare', 'nothing'));
    const input = await loadReport([join(folder, 'compare')]);
    expect(input.runs.map((run) => run.label)).toEqual(['b', 'a', 'late']);
    expect(input.idealSpeedUp).toBe(3.25);
    expect(input.notes).toEqual([expect.stringMatching(/not there any more: gone\./)]);
  });

  it('reads a comparison that was interrupted before it wrote its result', async () => {
    for (const label of ['b', 'a']) await writeRun(`compare/${label}`, { ...CONFIG, label });
    expect((await loadReport([join(folder, 'compare')])).runs.map((run) => run.label)).toEqual(['a', 'b']);
  });

  it.each<[string, readonly RunEvent[], string, RegExp]>([
    ['cut off', EVENTS.slice(0, 5), '{"type":"redu', /record of run is not whole .*last line is cut off.*, 5 events/],
    ['without end', EVENTS.slice(0, 5), '', /record of run is not whole .*no end: the run was killed/],
  ])('uses what is whole of a record %s, and says so', async (_, events, rest, note) => {
    const directory = await writeRun('run', CONFIG, events);
    await appendFile(join(directory, 'events.jsonl'), rest);
    const input = await loadReport([directory]);
    expect(input.notes).toEqual([expect.stringMatching(note)]);
    expect(input.runs[0]?.summary).toMatchObject({ localSteps: 2, bytesSent: 7 });
    expect(renderReport(input)).toContain('is not whole');
  });

  it('reads what a controller alone has written', async () => {
    const config = { core: { strategy: 'partial-reduce', minWorkers: 2 }, durationMs: null, stopAtAccuracy: 0.7 };
    const [run] = (await loadReport([await writeRun('run', config)])).runs;
    expect(run).toMatchObject({
      label: 'partial-reduce',
      overrunShare: null,
      summary: { workers: 2, targetAccuracy: 0.7, weights: 'dynamic' },
    });
  });

  it.each<[string, (run: string) => Promise<string>, string, RegExp]>([
    ['no such directory', async () => join(folder, 'nowhere'), 'data-missing', /nowhere: no such directory/],
    ['a file', async (run) => join(run, 'config.json'), 'data-missing', /it is a file/],
    ['no run', async () => mkdtemp(join(folder, 'empty-')), 'data-missing', /neither it nor a directory in it/],
    [
      'a run that never started',
      async () => writeRun('idle', CONFIG, [{ type: 'workerLeft', timeMs: 0, worker: A }]),
      'data-missing',
      /never started/,
    ],
    ['another config.json', async () => writeRun('odd', { core: { groupSize: 2 } }), 'bad-data', /at core\.strategy/],
    ['a newer run', async () => writeRun('new', { ...CONFIG, format: 99 }), 'version-mismatch', /got format 99/],
    [
      'a damaged comparison',
      async (run) => {
        await cp(run, join(folder, 'compare', 'run'), { recursive: true });
        await writeFile(join(folder, 'compare', 'compare.json'), '{"entries":3}');
        return join(folder, 'compare');
      },
      'bad-data',
      /compare\.json to be a comparison's/,
    ],
  ])('refuses %s in one line', async (_, directoryOf, code, message) => {
    const run = await writeRun('run');
    const directory = await directoryOf(run);
    const failure = loadReport([run, directory]);
    await expect(failure).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    await expect(failure).rejects.toMatchObject({ message: expect.not.stringContaining('\n') });
    expect(await readFile(join(run, 'events.jsonl'), 'utf8')).toContain('runEnded');
  });
});

describe('mergeFacts', () => {
  it('says once what all agree on, and who differs', () => {
    const facts = mergeFacts([
      {
        label: 'a',
        facts: [
          { name: 'Batch', value: 8 },
          { name: 'Length', value: '1 epoch' },
        ],
      },
      {
        label: 'b',
        facts: [
          { name: 'Batch', value: 8 },
          { name: 'Length', value: '2 epochs' },
        ],
      },
      { label: 'c', facts: [{ name: 'Batch', value: 8 }] },
    ]);
    expect(facts).toEqual([
      { name: 'Batch', value: 8 },
      { name: 'Length', value: 'a: 1 epoch; b: 2 epochs; c: not told' },
    ]);
  });
});
