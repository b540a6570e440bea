/**
 * What a person sees of a run at one moment, as lines that fit a terminal: how far it is, how good the model is, and what
 * each worker does.
 */
import type { RunView } from '../core/view.js';
import { type RunGoal, type RunMoment, shareDone, timeLeftMs } from '../launch/run-goal.js';
import { fit } from './live-area.js';

type WorkerView = RunView['workers'][number];

export interface RunPicture {
  readonly label: string;
  readonly goal: RunGoal;
  readonly start: RunMoment;
  readonly now: RunMoment;
  readonly groups: number;
  readonly loss: number | null;
  readonly accuracy: number | null;
  /** What is being done in place of training; null: training. */
  readonly ending: string | null;
  readonly workers: readonly WorkerView[];
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

const RUN_BAR_COLUMNS_MAX = 60;
const WAY_COLUMNS = 30;
const WORKER_BAR_COLUMNS = { min: 6, max: 24 };
/** What the bar leaves to the reason of a wait, as long as there is room. */
const REASON_COLUMNS = 46;
const NUMBER_COLUMNS = 6;

/** A bar of that many columns. */
export function bar(share: number, columns: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * columns);
  return '█'.repeat(full) + '░'.repeat(columns - full);
}

/** `7 s`, `3 min 20 s`, `2 h 5 min`: whole seconds, which a display can count. */
export function clock(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `loss 0.226   test accuracy 94.38 %   236 groups`. */
export function describeModel({ loss, accuracy, groups }: Pick<RunPicture, 'loss' | 'accuracy' | 'groups'>): string {
  return [
    ...(loss === null ? [] : [`loss ${loss.toFixed(3)}`]),
    ...(accuracy === null ? [] : [`test accuracy ${(100 * accuracy).toFixed(2)} %`]),
    `${groups} groups`,
  ].join('   ');
}

/** `52 %   7 s   6 s left`; without a known end what was done in place of a share. */
export function describeWay({ goal, start, now, ending }: Omit<RunPicture, 'label' | 'workers'>): string {
  const share = shareDone(goal, now);
  const leftMs = timeLeftMs(goal, start, now);
  return [
    share === null ? `${now.samples} samples` : `${Math.floor(100 * share)} %`,
    clock(now.timeMs),
    ...(ending === null ? (leftMs === null ? [] : [`${clock(leftMs)} left`]) : [ending]),
  ].join('   ');
}

/** The lines of the picture. */
export function drawRun(picture: RunPicture, { columns, rows }: TerminalSize): readonly string[] {
  const share = shareDone(picture.goal, picture.now);
  const way = describeWay(picture);
  // A text that grows by a digit must not shorten the bar.
  const barColumns = Math.min(RUN_BAR_COLUMNS_MAX, columns - Math.max(way.length, WAY_COLUMNS) - 3);
  return [
    fit(`${picture.label}   ${describeModel(picture)}`, columns),
    fit(share === null || barColumns < 1 ? way : `${bar(share, barColumns)}   ${way}`, columns),
    ...drawWorkers(picture.workers, { columns, rows: rows - 2 }),
  ];
}

function drawWorkers(workers: readonly WorkerView[], { columns, rows }: TerminalSize): readonly string[] {
  if (workers.length === 0 || rows < 2) return [];
  const sorted = workers.toSorted((a, b) => a.worker - b.worker);
  const freshest = Math.max(...sorted.map(({ k }) => k));
  const mostSteps = Math.max(1, ...sorted.map(({ localSteps }) => localSteps));
  const nameColumns = Math.max(...sorted.map(({ worker }) => nameOf(worker).length));
  const barColumns = Math.min(
    WORKER_BAR_COLUMNS.max,
    Math.max(WORKER_BAR_COLUMNS.min, columns - nameColumns - 2 - 3 * NUMBER_COLUMNS - REASON_COLUMNS),
  );
  const numbers = (cells: readonly string[]): string => cells.map((cell) => cell.padStart(NUMBER_COLUMNS)).join('');
  const shown = sorted.length + 1 > rows ? sorted.slice(0, rows - 2) : sorted;
  return [
    fit(`${' '.repeat(nameColumns + barColumns + 1)}${numbers(['steps', 'per s', 'stale'])}`, columns),
    ...shown.map(({ worker, localSteps, iterationMedianMs, k, waitReason, state }) => {
      const speed = iterationMedianMs === null ? '-' : (1000 / iterationMedianMs).toFixed(1);
      const cells = numbers([String(localSteps), speed, String(freshest - k)]);
      const name = nameOf(worker).padEnd(nameColumns);
      return fit(`${name} ${bar(localSteps / mostSteps, barColumns)}${cells}  ${waitReason ?? state}`, columns);
    }),
    ...(shown.length < sorted.length ? [fit(`and ${sorted.length - shown.length} more workers`, columns)] : []),
  ];
}

function nameOf(worker: number): string {
  return `worker ${worker}`;
}
