/**
 * Nobody is passed over for ever, and nobody waits without a reason: what must be so of those that wait, after every step.
 */
import { assert } from '../../base/assert.js';
import { strategies } from '../../core/strategies/strategies.js';
import type { RunView } from '../../core/view.js';
import { activeWorkers, type Books, expectedWorkers, waitingWorkers } from './lives.js';
import type { Scenario } from './scenario.js';

/** Fewer hold the model and are there than shall be: nobody goes on, but for the end. */
export function isPaused({ minLiveWorkers }: Scenario, { lives }: Books, view: RunView): boolean {
  const present = [...lives.values()].filter(({ synced, suspect, leaving }) => synced && !suspect && !leaving);
  return view.started && view.finishReason === null && present.length < minLiveWorkers;
}

export function checkWaiting(scenario: Scenario, books: Books, view: RunView): void {
  if (isPaused(scenario, books, view)) return;
  const { usesServers = false, passive } = strategies[scenario.strategy];
  if (usesServers) {
    const count = waitingWorkers(books).length;
    // Only rounds and a bound on staleness make anybody wait.
    const mayWait = scenario.strategy !== 'ps-asp' && scenario.strategy !== 'ps-hete';
    assert(count === 0 || mayWait, `${count} workers wait`);
  } else if (passive !== undefined) checkPassiveWaiting(books, view);
  else if (scenario.strategy === 'partial-reduce') checkPartialWaiting(scenario, books, view);
  else checkRoundWaiting(books, view);
}

/** Whoever waits is told what for, and somebody may bring it. */
function checkPassiveWaiting(books: Books, view: RunView): void {
  const { lives, open, nowMs } = books;
  const waiting = waitingWorkers(books);
  const isComing = [...lives.values()].some(({ returning }) => returning);
  const moves =
    isComing || view.workers.some(({ state }) => state === 'computing' || state === 'joining' || state === 'syncing');
  const owed = [...lives.values()].some(({ unreported }) => unreported !== null);
  // Who is not finite may wait for a suspect to come back.
  const mayReturn = waiting.every(({ sound }) => !sound) && [...lives.values()].some(({ suspect }) => suspect);
  const rests = [...lives.values()].some(({ ready, restsUntilMs }) => ready !== null && restsUntilMs > nowMs);
  const isRight = waiting.length === 0 || moves || rests || owed || mayReturn || open.size > 0;
  assert(isRight, `${waiting.length} workers wait, and nobody moves`);
}

/** A round in which everybody waits is formed. */
function checkRoundWaiting(books: Books, view: RunView): void {
  const waiting = waitingWorkers(books);
  const isComing = [...books.lives.values()].some(
    ({ fetching, started, counted, returning }) => fetching || (started && !counted) || (returning && started),
  );
  if (waiting.length === 0 || isComing || waiting.length < activeWorkers(books, view).length) return;
  assert(
    waiting.every(({ sound }) => !sound),
    `${waiting.length} workers wait, though all are there`,
  );
  checkHopeless(books, view);
}

/** Those that wait are not finite: somebody may bring them what is. */
function checkHopeless({ lives }: Books, view: RunView): void {
  const mayCome = [...lives.values()].some(({ sound, synced, unreported }) => sound || unreported !== null || !synced);
  assert(mayCome && view.finishReason === null, 'workers wait for a finite one, and none can come');
}

function checkPartialWaiting({ groupSize, filter }: Scenario, books: Books, view: RunView): void {
  const waiting = waitingWorkers(books);
  if (waiting.length === 0 || waiting.length < Math.min(groupSize, expectedWorkers(books, view).length)) return;
  if (waiting.every(({ sound }) => !sound)) return checkHopeless(books, view);
  const isHeld = filter !== 'none' && view.finishReason === null;
  const reasons = view.workers.map(({ waitReason }) => waitReason ?? '');
  const saysSo = reasons.some((reason) => reason.startsWith('held'));
  assert(isHeld && saysSo, `${waiting.length} workers are ready, and wait`);
}
