import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CheckpointAnswer } from '../worker/thread-messages.js';
import type { WorkerRun } from '../worker/worker-run.js';
import { createCheckpointWriter, NO_LEASE } from './checkpoint-worker.js';
import type { Replica } from './replica-rule.js';

let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'preduce-checkpoint-worker-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

function createReplica(): Replica {
  return {
    parameters: Float32Array.of(1, 2, 3),
    auxiliary: Float32Array.of(4),
    optimizer: { state: Float32Array.of(5, 6, 7), step: () => undefined, reset: () => undefined },
    k: 9,
  };
}

/** Asks for one checkpoint of this replica, and gives the answer. */
async function keep(replica: Replica, where = directory): Promise<CheckpointAnswer> {
  const answers: CheckpointAnswer[] = [];
  const run = {
    worker: 2,
    get checkpointRequest() {
      return answers.length === 0 ? { checkpoint: 1, fromK: 0 } : null;
    },
    answerCheckpoint: (answer: CheckpointAnswer) => void answers.push(answer),
  } as unknown as WorkerRun;
  const model = { layout: [{ name: 'x', shape: [3] }], auxiliaryLayout: [{ name: 'y', shape: [1] }] };
  await createCheckpointWriter({ run, replica, model, directory: where }).atRest(NO_LEASE);
  return answers[0] as CheckpointAnswer;
}

describe('a worker that is asked for a checkpoint', () => {
  it('keeps its state', async () => {
    expect(await keep(createReplica())).toMatchObject({ type: 'checkpointed', checkpoint: 1, k: 9, lease: null });
    expect(await readdir(directory)).toEqual(['000001-worker-2.safetensors']);
  });

  it.each(['parameters', 'auxiliary'] as const)('keeps none whose %s are not finite', async (part) => {
    const replica = createReplica();
    replica[part][0] = Number.NaN;
    const answer = await keep(replica);
    expect(answer).toMatchObject({ type: 'checkpointFailed', reason: expect.stringContaining('not finite') as string });
    expect(await readdir(directory)).toEqual([]);
  });

  it('keeps none whose optimizer is not finite, and says when it cannot write', async () => {
    const replica = createReplica();
    replica.optimizer.state[1] = Number.POSITIVE_INFINITY;
    expect(await keep(replica)).toMatchObject({ type: 'checkpointFailed' });
    expect(await keep(createReplica(), join(directory, 'missing'))).toMatchObject({
      type: 'checkpointFailed',
      reason: expect.stringContaining('missing') as string,
    });
  });
});
