import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NOTHING_FINITE } from '../core/run-state.js';
import { resolveRun } from './run-options.js';
import { createRunOutput } from './run-output.js';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'preduce-output-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** The message and code of a run that ended for `reason` without a model. */
async function endWithout(reason: string, checkpoint: number | null): Promise<{ code: string; message: string }> {
  const run = resolveRun({ workers: 2 }, 1000);
  const output = await createRunOutput({ directory: join(folder, 'run'), run, label: null });
  output.record({ type: 'started', timeMs: 0, workers: [] });
  if (checkpoint !== null) output.record({ type: 'checkpointed', timeMs: 1, checkpoint });
  output.record({
    type: 'runEnded',
    timeMs: 2,
    reason,
    holders: [],
    samples: 1,
    localSteps: 1,
    rho: null,
    maxGroupsToConnect: 0,
    holdMs: 0,
    holdsExpired: 0,
  });
  return output.finish(run, { interrupted: false }).then(
    () => expect.unreachable(),
    (error: { code: string; message: string }) => error,
  );
}

describe('a run that ends without a model', () => {
  it('names its last good checkpoint', async () => {
    const { code, message } = await endWithout(`${NOTHING_FINITE}: too fast`, 4);
    expect(code).toBe('not-finite');
    expect(message).toContain('its last good checkpoint is 4');
    expect(message).toContain(`--resume ${join(folder, 'run')}`);
  });

  it('says where there is none, and that workers are gone where values are not what is wrong', async () => {
    const { code, message } = await endWithout('every worker has left or is dead', null);
    expect(code).toBe('worker-failed');
    expect(message).toContain('there is no checkpoint to go on from');
  });
});
