/**
 * What a person sees while a run goes on: on a terminal a live picture, elsewhere a line every few seconds, without control
 * characters.
 */
import type { RunningController } from '../controller/run-controller.js';
import type { RunGoal, RunMoment } from '../launch/run-goal.js';
import type { RunEvent } from '../observe/run-events.js';
import { createLiveArea, type TerminalStream } from './live-area.js';
import { clock, describeModel, describeWay, drawRun, type RunPicture } from './run-picture.js';

export interface ProgressOptions {
  readonly label: string;
  /** Where it is shown; stdout belongs to results. */
  readonly stream: TerminalStream & { readonly isTTY?: boolean };
}

/** What is looked at of a running controller. */
export type ViewedController = Pick<RunningController, 'view'>;

export interface Progress {
  /** Where the run will end. */
  aim(goal: RunGoal): void;
  onEvent(event: RunEvent, running: ViewedController): void;
  /** A line that stays. */
  say(line: string): void;
  /** Says how far the run has come, and stops. Without effect after `stop`. */
  finish(): void;
  stop(): void;
}

/** Longest silence without a terminal. */
const LINE_EVERY_MS = 3000;
const REDRAW_EVERY_MS = 150;

/** Nothing at all, for `--quiet`. */
export function createSilence(): Progress {
  const nothing = (): void => undefined;
  return { aim: nothing, onEvent: nothing, say: nothing, finish: nothing, stop: nothing };
}

export function createProgress(options: ProgressOptions): Progress {
  return options.stream.isTTY === true ? createLivePicture(options) : createLines(options);
}

/** What both displays remember of a run. */
interface Story {
  goal: RunGoal;
  start: RunMoment;
  timeMs: number;
  loss: number | null;
  accuracy: number | null;
  /** What is done after the training. */
  ending: string | null;
}

function createStory(): Story {
  return {
    goal: { samples: null, localSteps: null, timeMs: null },
    start: { samples: 0, localSteps: 0, timeMs: 0 },
    timeMs: 0,
    loss: null,
    accuracy: null,
    ending: null,
  };
}

function follow(story: Story, event: RunEvent): void {
  story.timeMs = Math.max(0, event.timeMs);
  switch (event.type) {
    case 'ready':
      // An exponential mean over the last few dozen steps.
      if (event.loss !== null) story.loss = story.loss === null ? event.loss : 0.95 * story.loss + 0.05 * event.loss;
      return;
    case 'evaluated':
      story.accuracy = event.accuracy;
      return;
    case 'started':
      story.start = { ...story.start, timeMs: event.timeMs };
      return;
    case 'resumed':
    case 'restarted':
      story.start = { samples: event.samples, localSteps: event.localSteps, timeMs: event.timeMs };
      return;
    case 'stopping':
      story.ending = 'draining';
      return;
    case 'runEnded':
      story.ending = 'evaluating the model';
      return;
    default:
  }
}

function pictureOf(label: string, story: Story, running: ViewedController): RunPicture {
  const { progress, groups, workers } = running.view();
  return { ...story, label, now: { ...progress, timeMs: story.timeMs }, groups, workers };
}

/** Of a run that is over. */
function describeEnd({ label, now, ...picture }: RunPicture): string {
  return `${label}: ${clock(now.timeMs)}   ${describeModel(picture)}`;
}

/** Events that a person should read as a line. */
function describeFault(event: RunEvent): string | null {
  switch (event.type) {
    case 'workerDead':
      return `worker ${event.worker} is dead (${event.reason}); the others go on`;
    case 'resumed':
      return `going on from checkpoint ${event.checkpoint}: ${event.samples} samples, ${event.localSteps} local steps`;
    case 'restarted':
      return `going on after ${event.samples} samples, ${event.localSteps} local steps; workers come back by themselves`;
    case 'stopping':
      return `draining: ${event.reason}`;
    case 'fault':
      if (event.kind === 'refused') return `refused ${event.message}`;
      return [
        'not-finite',
        'violation',
        'checkpoint',
        'evaluation',
        'stalled',
        'setback',
        'cool-down',
        'paused',
        'state',
      ].includes(event.kind)
        ? event.message
        : null;
    default:
      return null;
  }
}

function createLines({ label, stream }: ProgressOptions): Progress {
  const story = createStory();
  let lastLineMs = 0;
  let running: ViewedController | null = null;
  const say = (line: string): void => void stream.write(`${label}: ${line}\n`);
  return {
    aim(goal) {
      story.goal = goal;
    },
    onEvent(event, controller) {
      running = controller;
      follow(story, event);
      const fault = describeFault(event);
      if (fault !== null) say(fault);
      if (event.type === 'started') say(`started with ${event.workers.length} workers`);
      if (event.timeMs - lastLineMs < LINE_EVERY_MS) return;
      lastLineMs = event.timeMs;
      const picture = pictureOf(label, story, controller);
      say(`${describeWay(picture)}   ${describeModel(picture)}`);
    },
    say,
    finish() {
      if (running !== null) stream.write(`${describeEnd(pictureOf(label, story, running))}\n`);
      running = null;
    },
    stop() {
      running = null;
    },
  };
}

function createLivePicture({ label, stream }: ProgressOptions): Progress {
  const story = createStory();
  const area = createLiveArea(stream);
  let running: ViewedController | null = null;
  let heardMs = performance.now();
  let drawnMs = Number.NEGATIVE_INFINITY;
  let isStarted = false;

  function draw(): void {
    if (running === null) return;
    const nowMs = performance.now();
    drawnMs = nowMs;
    // The run's clock goes on between events.
    const timeMs = story.timeMs + (isStarted && story.ending === null ? nowMs - heardMs : 0);
    area.draw(drawRun(pictureOf(label, { ...story, timeMs }, running), area));
  }

  // Where all wait for one worker there are no events, and the clock should still go.
  const timer = setInterval(draw, REDRAW_EVERY_MS);
  timer.unref();
  function stop(): void {
    clearInterval(timer);
    running = null;
    process.removeListener('exit', stop);
    area.close();
  }
  // A second Ctrl-C ends the process on the spot; it must not leave the terminal without a cursor.
  process.once('exit', stop);

  return {
    aim(goal) {
      story.goal = goal;
    },
    onEvent(event, controller) {
      follow(story, event);
      heardMs = performance.now();
      running = controller;
      if (event.type === 'started' || event.type === 'restarted') isStarted = true;
      const fault = describeFault(event);
      if (fault !== null) area.print(fault);
      if (heardMs - drawnMs >= REDRAW_EVERY_MS || event.type === 'runEnded') draw();
    },
    say: (line) => area.print(line),
    finish() {
      const end = running === null ? null : describeEnd(pictureOf(label, story, running));
      stop();
      if (end !== null) area.print(end);
    },
    stop,
  };
}
