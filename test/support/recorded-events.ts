/**
 * The record of a run that another process writes, followed as it grows.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunEvent } from 'preduce/client';

const LOOK_EVERY_MS = 10;

/** What is written so far, whole lines only; nothing where there is no record yet. */
export async function recordedEvents(directory: string): Promise<readonly RunEvent[]> {
  const text = await readFile(join(directory, 'events.jsonl'), 'utf8').catch(() => '');
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as RunEvent);
}

/** Resolves once the record holds so many events that fit. */
export async function recorded(directory: string, fits: (event: RunEvent) => boolean, count = 1): Promise<void> {
  for (;;) {
    const events = await recordedEvents(directory);
    if (events.filter(fits).length >= count) return;
    await pause(LOOK_EVERY_MS);
  }
}
