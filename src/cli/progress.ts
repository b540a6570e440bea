/**
 * What a person sees while a run goes on: on a terminal a bar per worker and one for the run, elsewhere a line every few
 * seconds, without control characters.
 */
import { MultiBar, type SingleBar } from 'cli-progress';
import type { RunningController } from '../controller/run-controller.js';
import type { RunEvent } from '../observe/run-events.js';

export interface ProgressOptions {
  readonly label: string;
  /** Samples that the run will process, null where that is not known. */
  readonly totalSamples: number | null;
  /** Where it is shown; stdout belongs to results. */
  readonly stream: NodeJS.WriteStream;
}

export interface Progress {
  onEvent(event: RunEvent, running: RunningController): void;
  /** A line that stays. */
  say(line: string): void;
  stop(): void;
}

/** Longest silence without a terminal. */
const LINE_EVERY_MS = 3000;
const REDRAW_EVERY_MS = 150;

/** Nothing at all, for `--quiet`. */
export function createSilence(): Progress {
  return { onEvent: () => undefined, say: () => undefined, stop: () => undefined };
}

export function createProgress(options: ProgressOptions): Progress {
  return options.stream.isTTY ? createBars(options) : createLines(options);
}

/** What both displays tell of the run as a whole. */
interface Totals {
  samples: number;
  accuracy: number | null;
  loss: number | null;
  groups: number;
  timeMs: number;
}

function follow(totals: Totals, event: RunEvent): void {
  totals.timeMs = event.timeMs;
  switch (event.type) {
    case 'ready':
      totals.samples += event.samples;
      // An exponential mean over the last few dozen steps.
      if (event.loss !== null) totals.loss = totals.loss === null ? event.loss : 0.95 * totals.loss + 0.05 * event.loss;
      return;
    case 'evaluated':
      totals.accuracy = event.accuracy;
      return;
    case 'groupFormed':
      totals.groups += 1;
      return;
    case 'resumed':
      totals.samples = event.samples;
      return;
    default:
  }
}

function describeTotals(totals: Totals): string {
  const loss = totals.loss === null ? '' : `  loss ${totals.loss.toFixed(3)}`;
  const accuracy = totals.accuracy === null ? '' : `  test accuracy ${(100 * totals.accuracy).toFixed(2)} %`;
  return `${loss}${accuracy}`;
}

function describeFault(event: RunEvent): string | null {
  switch (event.type) {
    case 'workerDead':
      return `worker ${event.worker} is dead (${event.reason}); the others go on`;
    case 'resumed':
      return `going on from checkpoint ${event.checkpoint}: ${event.samples} samples, ${event.localSteps} local steps`;
    case 'stopping':
      return `draining: ${event.reason}`;
    case 'fault':
      if (event.kind === 'refused') return `refused ${event.message}`;
      return event.kind === 'not-finite' || event.kind === 'violation' || event.kind === 'checkpoint'
        ? event.message
        : null;
    default:
      return null;
  }
}

function createLines({ label, totalSamples, stream }: ProgressOptions): Progress {
  const totals: Totals = { samples: 0, accuracy: null, loss: null, groups: 0, timeMs: 0 };
  let lastLineMs = 0;
  const say = (line: string): void => {
    stream.write(`${label}: ${line}\n`);
  };
  return {
    onEvent(event) {
      follow(totals, event);
      const fault = describeFault(event);
      if (fault !== null) say(fault);
      if (event.type === 'started') say(`started with ${event.workers.length} workers`);
      if (event.timeMs - lastLineMs < LINE_EVERY_MS) return;
      lastLineMs = event.timeMs;
      const done =
        totalSamples === null ? `${totals.samples} samples` : `${Math.floor((100 * totals.samples) / totalSamples)} %`;
      say(`${(totals.timeMs / 1000).toFixed(0)} s  ${done}  ${totals.groups} groups${describeTotals(totals)}`);
    },
    say,
    stop: () => undefined,
  };
}

function createBars({ label, totalSamples, stream }: ProgressOptions): Progress {
  const totals: Totals = { samples: 0, accuracy: null, loss: null, groups: 0, timeMs: 0 };
  const bars = new MultiBar({
    stream,
    format: '{name} {bar} {text}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
    // A run that ends early leaves bars that are not full.
    stopOnComplete: false,
    emptyOnZero: true,
  });
  // A second Ctrl-C ends the process on the spot; it must not leave the terminal without a cursor.
  const giveBackCursor = (): void => bars.stop();
  process.once('exit', giveBackCursor);
  const whole = bars.create(totalSamples ?? 1, 0, { name: label.padEnd(24), text: '' });
  const workers = new Map<number, SingleBar>();
  let drawnMs = Number.NEGATIVE_INFINITY;
  let stopped = false;

  function draw(running: RunningController): void {
    const etaMs =
      totalSamples === null || totals.samples === 0
        ? null
        : (totals.timeMs * (totalSamples - totals.samples)) / totals.samples;
    const eta = etaMs === null ? '' : `  ${Math.max(0, etaMs / 1000).toFixed(0)} s left`;
    whole.update(totalSamples === null ? 0 : Math.min(totals.samples, totalSamples), {
      text: `${(totals.timeMs / 1000).toFixed(0)} s${eta}${describeTotals(totals)}`,
    });
    const view = running.view();
    const mostSteps = Math.max(1, ...view.workers.map((worker) => worker.localSteps));
    const freshest = Math.max(...view.workers.map((worker) => worker.k));
    for (const { worker, state, k, localSteps, iterationMedianMs, waitReason } of view.workers) {
      let bar = workers.get(worker);
      if (bar === undefined) {
        bar = bars.create(1, 0, { name: `  worker ${worker}`.padEnd(24), text: '' });
        workers.set(worker, bar);
      }
      const speed = iterationMedianMs === null ? '' : `${(1000 / iterationMedianMs).toFixed(1)} steps/s  `;
      bar.update(localSteps / mostSteps, {
        text: `${String(localSteps).padStart(5)} steps  ${speed}stale ${freshest - k}  ${waitReason ?? state}`,
      });
    }
  }

  return {
    onEvent(event, running) {
      if (stopped) return;
      follow(totals, event);
      const fault = describeFault(event);
      if (fault !== null) bars.log(`${label}: ${fault}\n`);
      if (event.timeMs < 0 || (event.timeMs - drawnMs < REDRAW_EVERY_MS && event.type !== 'runEnded')) return;
      drawnMs = event.timeMs;
      draw(running);
    },
    say(line) {
      if (stopped) {
        stream.write(`${line}\n`);
        return;
      }
      bars.log(`${line}\n`);
      // The process may end before the next redrawing.
      bars.update();
    },
    stop() {
      stopped = true;
      process.removeListener('exit', giveBackCursor);
      bars.stop();
    },
  };
}
