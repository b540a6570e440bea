import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import { continueRunRecord } from './continued-record.js';
import type { RunEvent } from './run-events.js';

const first: RunEvent = { type: 'workerFinished', worker: workerId(0), timeMs: 1 };
const second: RunEvent = { type: 'logged', worker: workerId(1), values: { loss: 0.5 }, timeMs: 2 };
const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'preduce-continued-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

async function write(events: string, metrics: string): Promise<void> {
  await writeFile(join(directory, 'events.jsonl'), events);
  await writeFile(join(directory, 'metrics.jsonl'), metrics);
}

const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8');

it('keeps what is whole, cuts off what is not, and goes on behind it', async () => {
  // Longer than what is read at once.
  await write(`${line(first)}{"type":"ready","x":"${'y'.repeat(200_000)}`, '{"timeMs":1,"test');
  const kept: RunEvent[] = [];
  const record = await continueRunRecord({ directory, onKept: (event) => kept.push(event) });
  record.append(second);
  await record.close();
  expect(kept).toEqual([first]);
  expect(await read('events.jsonl')).toBe(line(first) + line(second));
  expect(await read('metrics.jsonl')).toBe(line({ timeMs: 2, worker: 1, loss: 0.5 }));
});

it('leaves a record that is whole as it is, also where it is given up', async () => {
  await write(line(first) + line(second), '');
  const record = await continueRunRecord({ directory, onKept: () => undefined });
  await record.abandon();
  expect(await read('events.jsonl')).toBe(line(first) + line(second));
});

it('is refused where there is none', async () => {
  await expect(continueRunRecord({ directory, onKept: () => undefined })).rejects.toMatchObject({
    code: 'data-missing',
  });
});
