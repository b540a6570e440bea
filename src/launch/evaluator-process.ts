/**
 * Entry of the evaluator process of a local run. Writes the final model where it is told.
 */
import { messageOf } from '../base/errors.js';
import { runEvaluator } from '../training/evaluator.js';
import { tensorsOfModel, writeSafetensors } from '../training/safetensors.js';
import { findWorkload } from '../training/workload.js';
import { followParent } from './child-process.js';
import { type EvaluatorTask, TOKEN_VARIABLE } from './evaluator.js';
import { trustOf } from '../worker/trust.js';

async function main(task: EvaluatorTask): Promise<void> {
  const { training } = task;
  const workload = findWorkload(training.workload);
  const { test } = await workload.loadData(training.dataDirectory);
  const model = await workload.createModel({ seed: training.seed, threads: 1 });
  await runEvaluator({
    controller: task.controller,
    token: process.env[TOKEN_VARIABLE] ?? null,
    trust: trustOf('certificate', task.certificate),
    // The controller that started this process, on this machine.
    insecure: true,
    model,
    test,
    onFinal: ({ accuracy, loss }) =>
      writeSafetensors(task.modelFile, tensorsOfModel(model), {
        workload: training.workload,
        strategy: training.strategy,
        testAccuracy: String(accuracy),
        testLoss: String(loss),
      }),
  });
  await model.release();
}

followParent();
main(JSON.parse(process.argv[2] ?? '{}') as EvaluatorTask).catch((error: unknown) => {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
});
