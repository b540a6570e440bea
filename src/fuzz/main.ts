/**
 * `npm run fuzz:decoders`: feeds every reader with damaged and random input for a while. Ends with status 1 where one throws
 * something unexpected, does not come back, or takes more and more memory.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { messageOf, PreduceError } from '../base/errors.js';
import { createRandom } from '../base/random.js';
import type { Finding } from './fuzz.js';
import type { FuzzResult, FuzzTask } from './fuzz-thread.js';
import { allTargets } from './targets.js';

const USAGE = `usage: npm run fuzz:decoders -- [--seconds 60] [--inputs N] [--seed S] [--target NAME]...
       npm run fuzz:decoders -- --target NAME --seed S --input I    that one input again
  --inputs  of all targets together at most (default: as many as the time allows)
  targets   ${allTargets.map(({ name }) => name).join(', ')}
`;

/** A reader that has not come back after this long hangs: an input is 64 KiB at most. */
const HANG_MS = 10_000;
const LOOK_EVERY_MS = 1000;
/** What caches and compiled code may take beside what a leak of some bytes an input would. */
const GROWTH_MAX_MIB = 24;
/** Beyond what the largest input should make any reader take. */
const PEAK_MAX_MIB = 1536;

type FuzzOptions = Omit<FuzzTask, 'progress'>;

function wholeNumber(flag: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new PreduceError('bad-option', `--${flag}: expected a whole number from 0, got "${text}"`);
}

function parseOptions(args: readonly string[]): FuzzOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string' },
      inputs: { type: 'string' },
      input: { type: 'string' },
      seed: { type: 'string' },
      target: { type: 'string', multiple: true },
    },
  });
  const targets = values.target ?? allTargets.map(({ name }) => name);
  const unknown = targets.find((name) => !allTargets.some((target) => target.name === name));
  if (unknown !== undefined) throw new PreduceError('bad-option', `--target: expected a target, got "${unknown}"`);
  const isOne = values.input !== undefined;
  return {
    targets,
    seed: values.seed === undefined ? createRandom(Date.now()).below(2 ** 31) : wholeNumber('seed', values.seed),
    first: wholeNumber('input', values.input ?? '0'),
    inputs: isOne ? 1 : values.inputs === undefined ? Number.MAX_SAFE_INTEGER : wholeNumber('inputs', values.inputs),
    seconds: wholeNumber('seconds', values.seconds ?? (values.inputs === undefined ? '60' : '1000000')),
  };
}

/** Runs the thread; a finding where it throws, ends, or hangs. */
async function run(options: FuzzOptions): Promise<FuzzResult | Finding> {
  const progress = new Float64Array(new SharedArrayBuffer(16));
  const task: FuzzTask = { ...options, progress };
  const thread = new Worker(new URL('./fuzz-thread.js', import.meta.url), { workerData: task });
  const stuck = (message: string): Finding => ({
    target: allTargets[progress[0] as number]?.name ?? '?',
    seed: options.seed,
    input: progress[1] as number,
    bytes: '',
    message,
  });
  let last = '';
  let sinceMs = performance.now();
  let watch: NodeJS.Timeout | null = null;
  try {
    return await new Promise<FuzzResult | Finding>((resolve) => {
      watch = setInterval(() => {
        const now = progress.join();
        if (now !== last) sinceMs = performance.now();
        last = now;
        if (performance.now() - sinceMs > HANG_MS) resolve(stuck(`it did not come back for ${HANG_MS} ms`));
      }, LOOK_EVERY_MS);
      thread.once('message', (result: FuzzResult) => resolve(result));
      // Out of memory ends as an error, too.
      thread.once('error', (error) => resolve(stuck(error.stack ?? error.message)));
      thread.once('exit', () => resolve(stuck('the thread ended')));
    });
  } finally {
    if (watch !== null) clearInterval(watch);
    await thread.terminate();
  }
}

function describeFinding({ target, seed, input, bytes, message }: Finding): string {
  return `${target}, input ${input}: ${message}\n  again: npm run fuzz:decoders -- --target ${target} --seed ${seed} --input ${input}\n  bytes: ${bytes}\n`;
}

function describeCounts({ counts, earlyMiB, endMiB }: FuzzResult, peakMiB: number): string {
  const width = Math.max(...Object.keys(counts).map((name) => name.length));
  const rows = Object.entries(counts).map(
    ([name, { inputs, taken }]) => `${name.padEnd(width)}  ${inputs} inputs, ${taken} of them taken\n`,
  );
  const total = Object.values(counts).reduce((sum, { inputs }) => sum + inputs, 0);
  const memory = `memory ${earlyMiB.toFixed(1)} MiB early, ${endMiB.toFixed(1)} MiB at the end, ${Math.round(peakMiB)} MiB at most`;
  return `${rows.join('')}${total} inputs, ${memory}\n`;
}

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2));
  process.stdout.write(`seed ${options.seed}\n`);
  const result = await run(options);
  if (!('counts' in result)) {
    process.stdout.write(describeFinding(result));
    process.exitCode = 1;
    return;
  }
  const peakMiB = process.resourceUsage().maxRSS / 1024;
  process.stdout.write(describeCounts(result, peakMiB));
  if (result.finding !== null) process.stdout.write(describeFinding(result.finding));
  const grows = result.endMiB - result.earlyMiB > GROWTH_MAX_MIB || peakMiB > PEAK_MAX_MIB;
  if (grows) process.stdout.write('memory grows\n');
  if (grows || result.finding !== null) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${messageOf(error)}\n${USAGE}`);
  process.exitCode = 2;
});
