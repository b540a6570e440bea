import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import type { RunEvent } from './run-events.js';
import { createRunRecord } from './run-record.js';

const finished: RunEvent = { type: 'workerFinished', timeMs: 3.5, worker: workerId(1) };
const logged: RunEvent = { type: 'logged', timeMs: 4, worker: workerId(1), values: { loss: 0.25 } };
const evaluated: RunEvent = {
  type: 'evaluated',
  timeMs: 5,
  mark: 1,
  final: false,
  samples: 100,
  localSteps: 10,
  loss: null,
  accuracy: 0.5,
  replicas: 4,
  cpuMs: 2,
};

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'preduce-record-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function linesOf(path: string): Promise<unknown[]> {
  const text = await readFile(path, 'utf8');
  expect(text === '' || text.endsWith('\n')).toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

describe('createRunRecord', () => {
  it('writes configuration, events and metrics', async () => {
    const record = await createRunRecord({ directory: join(folder, 'runs', 'one'), config: { seed: 3 } });
    expect(record.directory).toBe(join(folder, 'runs', 'one'));
    for (const event of [finished, logged, evaluated]) record.append(event);
    await record.writeJson('config.json', { seed: 3 });
    await record.writeJson('summary.json', { updates: 1 });
    await record.close();
    await record.close();
    expect((await readdir(record.directory)).toSorted()).toEqual([
      'config.json',
      'events.jsonl',
      'metrics.jsonl',
      'summary.json',
    ]);
    expect(JSON.parse(await readFile(record.file('config.json'), 'utf8'))).toEqual({ format: 1, seed: 3 });
    expect(JSON.parse(await readFile(record.file('summary.json'), 'utf8'))).toEqual({ updates: 1 });
    expect(await linesOf(record.file('events.jsonl'))).toEqual([finished, logged, evaluated]);
    expect(await linesOf(record.file('metrics.jsonl'))).toEqual([
      { timeMs: 4, worker: 1, loss: 0.25 },
      { timeMs: 5, samples: 100, localSteps: 10, testLoss: null, testAccuracy: 0.5, final: false },
    ]);
  });

  it('ignores what comes after the end', async () => {
    const record = await createRunRecord({ directory: join(folder, 'one'), config: {} });
    await record.close();
    record.append(finished);
    await record.close();
    expect(await linesOf(record.file('events.jsonl'))).toEqual([]);
  });

  it('takes an empty directory', async () => {
    const record = await createRunRecord({ directory: folder, config: {} });
    await record.close();
    expect(await readdir(folder)).toContain('events.jsonl');
  });

  it('refuses a directory that holds something, and leaves it alone', async () => {
    await writeFile(join(folder, 'mine.txt'), 'mine');
    await expect(createRunRecord({ directory: folder, config: {} })).rejects.toMatchObject({
      code: 'out-dir-unusable',
      message: expect.stringMatching(/new or an empty directory.*1 entries.*--out/),
    });
    expect(await readdir(folder)).toEqual(['mine.txt']);
  });

  it('refuses a path below a file, leaving nothing', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(createRunRecord({ directory: join(folder, 'file', 'run'), config: {} })).rejects.toMatchObject({
      code: 'out-dir-unusable',
      message: expect.stringContaining('choose another --out'),
    });
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('removes what it made when the run is abandoned, and no more than that', async () => {
    const record = await createRunRecord({ directory: join(folder, 'runs', 'deep', 'one'), config: {} });
    record.append(finished);
    await writeFile(record.file('log.txt'), 'worker 0: no');
    await mkdir(join(folder, 'runs', 'other'));
    await record.abandon();
    expect(await readdir(join(folder, 'runs'))).toEqual(['other']);
  });

  it('says which file could not be written', async () => {
    const record = await createRunRecord({ directory: join(folder, 'one'), config: {} });
    await expect(record.writeJson('no/where.json', {})).rejects.toMatchObject({
      code: 'out-dir-unusable',
      message: expect.stringContaining('where.json'),
    });
    await record.close();
    expect((await readdir(record.directory)).toSorted()).toEqual(['config.json', 'events.jsonl', 'metrics.jsonl']);
  });
});
