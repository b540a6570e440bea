/**
 * What a step costs beside computing and the collective itself: the check for non-finite values, the copies in and out, READY,
 * grouping, GROUP, DONE. Two workers with steps of equal length and a replica of 10 MB; of each group the member that came
 * last is looked at, because the other one waits for it. Prints medians over all steps as JSON. Needs `npm run build`.
 *
 *   node bench/step-overhead.mjs [replica bytes] [step in ms] [steps]
 */
import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { controller, joinRun } from 'preduce/client';

const WORKERS = 2;
const [bytes = 10e6, stepMs = 100, steps = 100] = process.argv.slice(2).map(Number);
const WARM_UP_STEPS = 10;

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

async function work() {
  const length = Math.ceil(bytes / 4);
  const run = await joinRun({ layout: [{ name: 'x', shape: [length] }], initial: new Float32Array(length) });
  const taken = [];
  while (!run.done) {
    await sleep(stepMs);
    run.parameters[0] += 1;
    const startedMs = performance.now();
    const { waitMs, reduceMs } = await run.reduce({ samples: 1 });
    const totalMs = performance.now() - startedMs;
    taken.push({ totalMs, waitMs, reduceMs, copyMs: totalMs - waitMs - reduceMs });
  }
  await run.finish();
  process.send(taken.slice(WARM_UP_STEPS, -2));
  process.disconnect();
}

async function main() {
  const running = await controller({ core: { minWorkers: WORKERS, maxLocalSteps: WORKERS * (steps + WARM_UP_STEPS) } });
  const workers = Array.from({ length: WORKERS }, () =>
    fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
      env: { ...process.env, PREDUCE_CONTROLLER: running.url },
    }),
  );
  const answers = await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
  await running.ended;
  await running.close();
  // Of each group the member that came last: the group was ready, so that nothing of its wait is the other's.
  const taken = answers[0].map((step, i) =>
    answers.map((of) => of[i]).reduce((a, b) => (b.waitMs < a.waitMs ? b : a), step),
  );
  const of = (key) => median(taken.map((step) => step[key]));
  const outsideMs = median(taken.map((step) => step.totalMs - step.reduceMs));
  const result = {
    bytes,
    stepMs,
    steps: taken.length,
    waitMs: of('waitMs'),
    copyMs: of('copyMs'),
    reduceMs: of('reduceMs'),
    overheadMs: outsideMs,
    overheadShare: outsideMs / stepMs,
  };
  const rounded = (_, value) => (typeof value === 'number' ? Math.round(value * 1000) / 1000 : value);
  process.stdout.write(`${JSON.stringify(result, rounded)}\n`);
}

await (process.env.PREDUCE_CONTROLLER === undefined ? main() : work());
