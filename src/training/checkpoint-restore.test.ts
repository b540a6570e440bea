import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Manifest, ManifestPart } from './checkpoint-manifest.js';
import { type PartState, writePart } from './checkpoint-part.js';
import { planRestore, restoreState } from './checkpoint-restore.js';
import { completeCheckpoint, partPath } from './checkpoint-store.js';

function partsOf(...ks: readonly (readonly [worker: number, k: number])[]): ManifestPart[] {
  return ks.map(([worker, k]) => ({ worker, k, lease: null, processed: 0, bytes: 0, sha256: '0'.repeat(64) }));
}

describe('who goes on from what', () => {
  const three = partsOf([0, 7], [1, 9], [4, 8]);
  it.each([
    ['as many workers: its own', 'partial-reduce', 1, 3, { k: 9, replicas: [1], optimizer: 1 }],
    ['a new number: another part', 'partial-reduce', 2, 3, { k: 8, replicas: [4], optimizer: 4 }],
    ['more workers: a copy', 'partial-reduce', 3, 5, { k: 7, replicas: [0], optimizer: 0 }],
    ['fewer workers: the mean', 'partial-reduce', 1, 2, { k: 9, replicas: [0, 1, 4], optimizer: 1 }],
    ['all-reduce: the freshest', 'all-reduce', 0, 3, { k: 9, replicas: [1], optimizer: 1 }],
  ] as const)('%s', (_, strategy, worker, workerCount, plan) => {
    expect(planRestore({ parts: three }, { strategy, worker, workerCount })).toEqual(plan);
  });
});

describe('restoring', () => {
  const shapes = { layout: [{ name: 'w', shape: [3] }], auxiliaryLayout: [{ name: 'mean', shape: [1] }] };
  const states: readonly PartState[] = [0, 1].map((i) => ({
    parameters: Float32Array.of(0.1 + i, 1e-40, -0),
    auxiliary: Float32Array.of(i),
    optimizer: Float32Array.of(i, 2 * i, 3 * i),
  }));
  let directory = '';

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'preduce-restore-'));
    const parts: Manifest['parts'] = [];
    for (const [worker, state] of states.entries()) {
      const stamp = await writePart(partPath(directory, 1, worker), shapes, state);
      parts.push({ worker, k: 3 + worker, lease: null, processed: 0, ...stamp });
    }
    await completeCheckpoint(directory, {
      checkpoint: 1,
      savedAt: '',
      timeMs: 0,
      term: 1,
      progress: { samples: 0, localSteps: 0 },
      ledger: null,
      parts,
      layout: '',
      label: '',
      options: {},
      core: {},
      training: {},
    });
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('gives a worker its own bits', async () => {
    const restored = await restoreState({ directory, checkpoint: 1 }, shapes, {
      strategy: 'partial-reduce',
      worker: 1,
      workerCount: 2,
    });
    expect(restored).toEqual({ k: 4, ...states[1] });
    expect(Object.is(restored.parameters[2], -0)).toBe(true);
  });

  it('gives fewer workers the mean of all replicas, and the optimizer state of their own', async () => {
    const restored = await restoreState({ directory, checkpoint: 1 }, shapes, {
      strategy: 'partial-reduce',
      worker: 0,
      workerCount: 1,
    });
    expect(restored.k).toBe(4);
    expect(restored.parameters[0]).toBeCloseTo(0.6);
    expect(restored.auxiliary).toEqual(Float32Array.of(0.5));
    expect(restored.optimizer).toEqual(states[0]?.optimizer);
  });
});
