/**
 * A first run: three workers fit a line by hand-written gradient descent, one of them ten times slower, and average by
 * partial reduce. Needs no engine.
 *
 *   node examples/01-first-run.mjs
 *
 * Started plainly, this file serves a controller and starts three copies of itself as workers. On several machines you
 * would run `preduce controller` on one, and the worker half on each with PREDUCE_CONTROLLER=ws://that-machine:29400.
 */
import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { controller, joinRun } from 'preduce/client';

const WORKERS = 3;
const STEPS = 1500;
// What the workers shall find: y = 3 x - 1.
const TRUE_SLOPE = 3;
const TRUE_OFFSET = -1;

async function work(slowness) {
  const layout = [
    { name: 'slope', shape: [1] },
    { name: 'offset', shape: [1] },
  ];
  const run = await joinRun({ layout, initial: new Float32Array(2) });
  while (!run.done) {
    // One local step on 16 fresh samples: run.parameters is a Float32Array, updated in place.
    const [slope, offset] = run.parameters;
    let slopeGradient = 0;
    let offsetGradient = 0;
    let loss = 0;
    for (let i = 0; i < 16; i += 1) {
      const x = 2 * Math.random() - 1;
      const y = TRUE_SLOPE * x + TRUE_OFFSET + 0.1 * (Math.random() - 0.5);
      const error = slope * x + offset - y;
      slopeGradient += (2 * error * x) / 16;
      offsetGradient += (2 * error) / 16;
      loss += error ** 2 / 16;
    }
    run.parameters[0] -= 0.05 * slopeGradient;
    run.parameters[1] -= 0.05 * offsetGradient;
    await sleep(slowness);
    // Averages with whoever is ready; nobody waits for the slowest.
    await run.reduce({ samples: 16, loss });
  }
  const [slope, offset] = await run.finish();
  console.log(
    `worker ${run.worker}: y = ${slope.toFixed(2)} x ${offset < 0 ? '-' : '+'} ${Math.abs(offset).toFixed(2)}`,
  );
}

async function serve() {
  const stepsOf = new Map();
  const running = await controller({
    core: { minWorkers: WORKERS, maxLocalSteps: STEPS },
    onEvent(event) {
      if (event.type === 'ready') stepsOf.set(event.worker, (stepsOf.get(event.worker) ?? 0) + 1);
    },
  });
  for (let i = 0; i < WORKERS; i += 1) {
    // The last worker is ten times slower.
    fork(fileURLToPath(import.meta.url), [i === WORKERS - 1 ? '20' : '2'], {
      env: { ...process.env, PREDUCE_CONTROLLER: running.url },
    });
  }
  await running.ended;
  await running.close();
  const steps = [...stepsOf].sort(([a], [b]) => a - b).map(([worker, count]) => `worker ${worker}: ${count}`);
  console.log(`local steps taken: ${steps.join(', ')}`);
}

if (process.env.PREDUCE_CONTROLLER === undefined) await serve();
else await work(Number(process.argv[2] ?? 0));
