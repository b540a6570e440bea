/**
 * The return of a life whose connection was lost, to this controller or to the next one of the run (algorithms.md 3.3). Messages of
 * both sides may have been lost, and the worker may have gone on alone: it says where it stands, and that counts.
 */
import { countLaterSteps, keepLaterLease } from './checkpoints.js';
import type { Standing, UntimedEvent } from './events.js';
import { isSynced, type Member } from './member.js';
import { lifeOf, onSuspected, removeDead } from './membership.js';
import { goesOnByItself, hasMissedRound } from './passive.js';
import { enqueue, enter, type RunState } from './run-state.js';

type ReturnEvent = Extract<UntimedEvent, { type: 'returned' }>;

/** `member`: null where that life is over. */
export function onReturned(state: RunState, member: Member | null, event: ReturnEvent): void {
  if (member === null) return refuse(state, event, `the life of worker ${event.worker} is over`);
  // Its former connection may not have been missed yet.
  onSuspected(state, member, 'it came back on a new connection');
  const problem = whyNot(state, member, event.standing);
  if (problem !== null) {
    removeDead(state, member, problem);
    return refuse(state, event, problem);
  }
  leaveBehind(state, member);
  state.effects.push({ type: 'welcomeBack', ticket: event.ticket, ...lifeOf(member), progress: state.progress });
  takeUp(state, member, event.standing);
}

function refuse(state: RunState, { ticket }: ReturnEvent, reason: string): void {
  state.effects.push({ type: 'returnRefused', ticket, reason, rejoin: !state.ended });
}

/** To be called for a return once the run is over. */
export function refuseReturn(state: RunState, event: ReturnEvent): void {
  refuse(state, event, `the run is over: ${state.finishReason}`);
}

/** Why this life cannot go on; null: it can. */
function whyNot(state: RunState, member: Member, standing: Standing): string | null {
  const { k, doing, ready, lease } = standing;
  if ((isSynced(member) || k !== null) && hasMissedRound(state, member)) return 'rounds went by while it was away';
  if (standing.localSteps < member.localSteps || standing.samples < member.samples) {
    return `it says that it has taken ${standing.localSteps} steps of ${standing.samples} samples, and had taken more`;
  }
  if (doing === 'joining') return isSynced(member) ? 'it has lost the model' : null;
  if (k === null || Math.max(k, ready?.k ?? 0) < member.k) return `it came back with k ${k}, and had ${member.k}`;
  if (doing !== 'waiting' && !state.started) return `it came back ${doing}, and the run has not started`;
  if (doing === 'idle' && state.ledger === null) return 'it waits for a lease in a run that hands out no data';
  if (lease !== null && state.ledger?.heldBy(member.worker)?.id !== lease) {
    return `it works on lease ${lease}, which it does not hold`;
  }
  return null;
}

/** What it was in is over for it. */
function leaveBehind(state: RunState, member: Member): void {
  const { group, worker } = member;
  if (group !== null) {
    state.openGroups.get(group.id)?.pending.delete(worker);
    state.changedGroups.add(group.id);
  }
  member.group = null;
  member.signal = null;
  member.donor = null;
  state.queue.remove(worker);
  member.suspectSinceMs = null;
  member.returning = false;
  member.mustAnswer = false;
  member.silent = false;
  const { collection } = state;
  if (collection?.pending.has(worker) !== true) return;
  // It may have been asked, may have answered, and nobody knows.
  state.collection = null;
  const reason = 'its connection was lost meanwhile';
  state.effects.push({ type: 'checkpointFailed', checkpoint: collection.number, worker, reason });
}

function takeUp(state: RunState, member: Member, standing: Standing): void {
  const { k, doing, ready, finite, localSteps, samples, samplesSinceGroup } = standing;
  const { progress } = state;
  state.progress = {
    samples: progress.samples + samples - member.samples,
    localSteps: progress.localSteps + localSteps - member.localSteps,
  };
  member.samplesSinceGroup = samplesSinceGroup;
  countLaterSteps(state, member, samples - member.samples, localSteps - member.localSteps);
  member.localSteps = localSteps;
  member.samples = samples;
  member.finite = finite || state.strategy.replica.exchanges === 'gradient';
  const before = member.k;
  member.k = Math.max(k ?? 0, before);
  state.membershipVersion += 1;
  state.filter.heardFrom(member.worker);
  settleLease(state, member, standing);
  const isRunning = doing !== 'joining' && doing !== 'waiting';
  member.counted ||= isRunning && localSteps > 0;
  enter(state, member, doing);
  if (!isRunning) return;
  if (ready !== null) takeUpSignal(state, member, ready, before);
  if (state.finishReason !== null && doing !== 'finished') {
    state.effects.push({ type: 'finish', ...lifeOf(member), reason: state.finishReason });
  }
}

/** What it holds by the ledger and does not work on has never reached it. */
function settleLease(state: RunState, member: Member, { lease, finished, doing }: Standing): void {
  const { ledger } = state;
  const { worker } = member;
  if (ledger === null) return;
  const before = ledger.heldBy(worker);
  if (before !== null && before.id === finished && ledger.finish(worker, finished)) {
    keepLaterLease(state, member, before);
  }
  const held = ledger.heldBy(worker);
  if (held !== null && (held.id !== lease || doing === 'finished')) ledger.giveBack(worker);
}

/** `before`: the k that it was known to have. */
function takeUpSignal(
  state: RunState,
  member: Member,
  { k, finite }: NonNullable<Standing['ready']>,
  before: number,
): void {
  if (goesOnByItself(state, member, k)) return;
  if (k <= before) {
    // It was let go on alone, and has not heard of it.
    state.effects.push({ type: 'release', ...lifeOf(member), k: before, progress: state.progress });
    return;
  }
  enqueue(state, member, { worker: member.worker, k, finite, order: state.signalCount, sinceMs: state.nowMs });
  state.signalCount += 1;
}
