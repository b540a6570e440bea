import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import type { RunEvent } from './run-events.js';
import { createRunRecord } from './run-record.js';
import { readRunConfig, readRunEvents, type StoredEvents } from './stored-run.js';

const finished: RunEvent = { type: 'workerFinished', timeMs: 3.5, worker: workerId(1) };
const dead: RunEvent = { type: 'workerDead', timeMs: 5, worker: workerId(1), reason: 'über Bord' };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'preduce-stored-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function writeRecord(): Promise<string> {
  const record = await createRunRecord({ directory: join(folder, 'run'), config: { seed: 3 } });
  record.append(finished);
  record.append(dead);
  await record.close();
  return record.directory;
}

interface Read extends StoredEvents {
  readonly config: unknown;
  readonly events: readonly RunEvent[];
}

async function read(directory: string): Promise<Read> {
  const events: RunEvent[] = [];
  const config = await readRunConfig(directory);
  return { config, ...(await readRunEvents(directory, (event) => events.push(event))), events };
}

describe('a stored run', () => {
  it('reads back what was written', async () => {
    expect(await read(await writeRecord())).toEqual({
      config: { format: 1, seed: 3 },
      eventCount: 2,
      truncated: false,
      events: [finished, dead],
    });
  });

  it.each([
    '{"type":"worker',
    // Whole, but for its newline: what came after it is not known.
    JSON.stringify(finished),
    '\0\0\0',
  ])('leaves out a last line that was cut off: %j', async (line) => {
    const directory = await writeRecord();
    await appendFile(join(directory, 'events.jsonl'), line);
    expect(await read(directory)).toMatchObject({ events: [finished, dead], eventCount: 2, truncated: true });
  });

  it('reads lines across the pieces in which a file comes', async () => {
    const directory = await writeRecord();
    const many = Array.from({ length: 5000 }, (_, timeMs): RunEvent => ({ ...dead, timeMs }));
    await appendFile(join(directory, 'events.jsonl'), many.map((event) => `${JSON.stringify(event)}\n`).join(''));
    expect((await read(directory)).events).toEqual([finished, dead, ...many]);
  });

  it('reads a record from before formats were told, and events of kinds unknown', async () => {
    const directory = await writeRecord();
    await writeFile(join(directory, 'config.json'), '{"seed":3}');
    await appendFile(join(directory, 'events.jsonl'), '{"type":"new","timeMs":9}\n');
    expect(await read(directory)).toMatchObject({ config: { seed: 3 }, eventCount: 3 });
  });

  it.each<[string, string, RegExp]>([
    ['a damaged line', '{"type":\n', /JSON in line 3/],
    ['a line that is no event', '{"type":"ready"}\n', /event in line 3/],
    ['a line that is no object', 'null\n', /event in line 3/],
    ['a worker beyond any run', '{"type":"workerLeft","timeMs":1,"worker":1e12}\n', /event in line 3/],
    ['a worker that is no number', '{"type":"workerLeft","timeMs":1,"worker":"__proto__"}\n', /event in line 3/],
    ['a list that is none', '{"type":"started","timeMs":1,"workers":3}\n', /event in line 3/],
    ['a list without numbers', '{"type":"started","timeMs":1,"workers":[null]}\n', /event in line 3/],
    ['a number that is none', '{"type":"ready","timeMs":1,"worker":0,"samples":"9"}\n', /event in line 3/],
    ['a line without end', 'x'.repeat(5 * 1024 * 1024), /lines of JSON/],
  ])('refuses %s', async (_, line, message) => {
    const directory = await writeRecord();
    await appendFile(join(directory, 'events.jsonl'), line);
    await expect(read(directory)).rejects.toMatchObject({ code: 'bad-data', message: expect.stringMatching(message) });
  });

  it.each<[string, string, string, RegExp]>([
    ['a newer format', '{"format":2}', 'version-mismatch', /format 1 or older.*got format 2.*newer Preduce/],
    ['a format that is none', '{"format":"x"}', 'bad-data', /format.*whole number, got "x"/],
    ['a damaged configuration', '{', 'bad-data', /JSON in .*config\.json/],
  ])('refuses %s', async (_, config, code, message) => {
    const directory = await writeRecord();
    await writeFile(join(directory, 'config.json'), config);
    await expect(read(directory)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.each<[string, (run: string) => string | Promise<string>, RegExp]>([
    ['nothing', (run) => join(run, 'nowhere'), /nowhere: no such directory/],
    ['a file', (run) => join(run, 'config.json'), /config\.json: it is a file/],
    ['another directory', () => folder, /run directory with config\.json in it, there is none/],
    [
      'a run without events',
      async (run) => {
        await rm(join(run, 'events.jsonl'));
        return run;
      },
      /events of the run in .*events\.jsonl, there is none/,
    ],
  ])('says what it found instead of a run: %s', async (_, directoryOf, message) => {
    const directory = await directoryOf(await writeRecord());
    await expect(read(directory)).rejects.toMatchObject({
      code: 'data-missing',
      message: expect.stringMatching(message),
    });
  });
});
