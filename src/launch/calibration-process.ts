/**
 * Entry of a calibration process: one of N that compute gradients of a workload at the same time. Says `ready`, is told `go`,
 * answers with its times.
 */
import { assertPresent } from '../base/assert.js';
import { createBatchSource } from '../data/batch-source.js';
import { createSgd } from '../engine/optimizer.js';
import { findWorkload } from '../training/workload.js';
import type { CalibrationAnswer, CalibrationTask } from './calibrate.js';
import { followParent } from './child-process.js';

const tell = (answer: CalibrationAnswer): void => {
  process.send?.(answer);
};

async function measure(task: CalibrationTask): Promise<void> {
  const workload = findWorkload(task.workload);
  const { train } = await workload.loadData(task.dataDirectory);
  const model = await workload.createModel({ seed: 1, threads: task.threads });
  const optimizer = createSgd(model.parameters.length, { momentum: 0.9 });
  const batches = createBatchSource({ dataset: train, batchSamples: task.batchSamples, seed: 1 });
  const step = async (): Promise<number> => {
    const startedMs = performance.now();
    batches.open({ epoch: 0, start: 0, count: task.batchSamples });
    const { values } = await model.gradient(assertPresent(batches.next(), 'the batch'));
    optimizer.step(model.parameters, values, 0);
    return performance.now() - startedMs;
  };
  // The first runs pay for warming up.
  for (let i = 0; i < task.warmUpSteps; i += 1) await step();
  tell({ type: 'ready' });
  await new Promise<void>((resolve) => process.once('message', () => resolve()));
  const startedMs = performance.now();
  const stepsMs: number[] = [];
  while (stepsMs.length < task.minSteps || performance.now() - startedMs < task.durationMs) stepsMs.push(await step());
  tell({ type: 'measured', stepsMs });
  process.disconnect?.();
}

followParent();
process.channel?.ref();
process.once('message', (task: CalibrationTask) => {
  void measure(task);
});
