import { expect, it } from 'vitest';
import { workerId } from '../base/ids.js';
import { defaultCoreConfig } from './config.js';
import { createController } from './controller.js';

it('tells how long a wait has lasted, at the moment that is looked at', () => {
  const core = createController(defaultCoreConfig());
  const [a, b] = [0, 1].map((worker) => ({ worker: workerId(worker), incarnation: 1 }));
  if (a === undefined || b === undefined) throw new Error('two workers');
  for (const [ticket, life] of [a, b].entries()) {
    core.step({ type: 'joined', ticket, requested: life.worker, nowMs: 0 });
    core.step({ type: 'synced', ...life, k: 0, nowMs: 0 });
  }
  core.step({ type: 'ready', ...a, k: 1, samples: 10, finite: true, nowMs: 1000 });
  const reasonAt = (nowMs?: number): string | null | undefined => core.view(nowMs).workers[0]?.waitReason;
  expect(reasonAt()).toBe('waiting 1/2: worker 1 computing for 1.0 s');
  expect(reasonAt(4100)).toBe('waiting 1/2: worker 1 computing for 4.1 s');
  expect(core.view(4100).workers[1]).toMatchObject({ state: 'computing', waitReason: null });
});
