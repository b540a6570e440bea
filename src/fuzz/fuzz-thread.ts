/**
 * The thread that reads: so that the one that started it can tell when a reader does not come back.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { assertPresent } from '../base/assert.js';
import { type Finding, inputOf, randomOf, type TargetCount, tryInput } from './fuzz.js';
import { allTargets } from './targets.js';

export interface FuzzTask {
  readonly targets: readonly string[];
  readonly seed: number;
  /** The first input of each target, and how many of all together at most. */
  readonly first: number;
  readonly inputs: number;
  readonly seconds: number;
  /** What is under way: number of the target among all, and of the input. */
  readonly progress: Float64Array;
}

export interface FuzzResult {
  readonly finding: Finding | null;
  readonly counts: Readonly<Record<string, TargetCount>>;
  /** Memory in use after a tenth of the time and at the end, garbage collected; MiB. */
  readonly earlyMiB: number;
  readonly endMiB: number;
}

/** Time that one target has before it is the next one's turn: some readers are a hundred times slower than others. */
const TURN_MS = 25;
const MIB = 2 ** 20;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function memoryMiB(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / MIB;
}

async function fuzz(task: FuzzTask): Promise<FuzzResult> {
  const targets = allTargets.filter(({ name }) => task.targets.includes(name));
  const runs = targets.map((target) => ({
    target,
    random: randomOf(allTargets, target, task.seed),
    count: { inputs: 0, taken: 0 },
  }));
  const counts = Object.fromEntries(runs.map(({ target, count }) => [target.name, count]));
  const startedMs = performance.now();
  let earlyMiB: number | null = null;
  let finding: Finding | null = null;
  for (let done = 0; finding === null; ) {
    const share = Math.max(done / task.inputs, (performance.now() - startedMs) / (1000 * task.seconds));
    if (share >= 1) break;
    if (earlyMiB === null && share >= 0.1) earlyMiB = memoryMiB();
    for (const { target, random, count } of runs) {
      const untilMs = performance.now() + TURN_MS;
      while (finding === null && done < task.inputs && performance.now() < untilMs) {
        const input = task.first + count.inputs;
        task.progress[0] = allTargets.indexOf(target);
        task.progress[1] = input;
        finding = tryInput(target, inputOf(target, random, input), { seed: task.seed, input }, count);
        done += 1;
      }
    }
    // Promises settle, timers end.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const endMiB = memoryMiB();
  return { finding, counts, earlyMiB: earlyMiB ?? endMiB, endMiB };
}

const port = assertPresent(parentPort, 'the parent thread');
port.postMessage(await fuzz(workerData as FuzzTask));
