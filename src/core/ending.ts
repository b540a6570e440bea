/**
 * Work and its end (algorithms.md 3.4 to 3.6): leases, evaluation marks, the drain, the final average.
 */
import type { LeaseId } from '../base/ids.js';
import { askCheckpoint, keepLaterLease } from './checkpoints.js';
import { formGroup } from './groups.js';
import { isSynced, type Member } from './member.js';
import { admitHeld, letLeaversGo, lifeOf } from './membership.js';
import { enter, NOTHING_FINITE, type RunState } from './run-state.js';

/** Gives what is wrong with the request, where it breaks the protocol. */
export function onLeaseRequested(state: RunState, member: Member, finished: LeaseId | null): string | null {
  const { ledger } = state;
  if (ledger === null) return 'asked for a lease, but this run has no data of its own: workers bring theirs';
  if (member.phase !== 'computing') return `asked for a lease while ${member.phase}: expected between two steps`;
  if (finished !== null) {
    const lease = ledger.heldBy(member.worker);
    if (lease?.id !== finished) return `said that it finished lease ${finished}, which it does not hold`;
    ledger.finish(member.worker, finished);
    keepLaterLease(state, member, lease);
  }
  if (ledger.holds(member.worker)) return 'asked for a lease while it holds one that is not finished';
  enter(state, member, 'idle');
  return null;
}

export function onFinished(state: RunState, member: Member): string | null {
  if (member.phase !== 'computing' && member.phase !== 'idle') return `said that it finished while ${member.phase}`;
  state.ledger?.giveBack(member.worker);
  enter(state, member, 'finished');
  return null;
}

export function giveLeases(state: RunState): void {
  const { ledger } = state;
  if (ledger === null || state.finishReason !== null) return;
  const idle = ledger.available ? state.roster.list('idle') : [];
  for (const member of idle) {
    const lease = ledger.take(member.worker);
    if (lease === null) break;
    enter(state, member, 'computing');
    state.effects.push({ type: 'lease', ...lifeOf(member), lease, progress: state.progress });
  }
  if (state.started && ledger.complete) beginFinish(state, 'all data were processed');
}

/** No further steps: tells everybody. Those who do not hold the model yet are let go. */
export function beginFinish(state: RunState, reason: string): void {
  if (state.finishReason !== null) return;
  askCheckpoint(state);
  state.finishReason = reason;
  for (const member of state.members.values()) {
    if (member.phase === 'finished') continue;
    if (isSynced(member) && state.started) state.effects.push({ type: 'finish', ...lifeOf(member), reason });
    else {
      member.leaving = true;
      state.roster.update(member);
    }
  }
  // Who waits to be let in is told at once.
  admitHeld(state);
}

export function checkProgress(state: RunState): void {
  const { maxLocalSteps, evaluateEverySamples } = state.config;
  const { samples, localSteps } = state.progress;
  const mark = evaluateEverySamples === null ? 0 : Math.floor(samples / evaluateEverySamples);
  if (mark > state.evaluationMark) {
    state.evaluationMark = mark;
    const holders = [...state.members.values()].filter((member) => isSynced(member) && member.suspectSinceMs === null);
    const finite = holders.filter((member) => member.finite);
    const workers = (finite.length > 0 ? finite : holders).map((member) => member.worker);
    state.effects.push({ type: 'evaluate', mark, progress: state.progress, workers });
  }
  if (maxLocalSteps !== null && localSteps >= maxLocalSteps) beginFinish(state, `${localSteps} local steps were taken`);
}

/** Ends the run when nobody can or wants to take another step: the final average of whoever is left, then the end. */
export function endWhenIdle(state: RunState): void {
  if (state.ended || (!state.started && state.finishReason === null)) return;
  const syncedCount = state.members.size - state.roster.count('unsynced');
  if (syncedCount === 0) return end(state, []);
  if (state.roster.count('finished') < syncedCount || state.openGroups.size > 0) return;
  const synced = state.roster.list('finished');
  // A passive member may rest, and owe the report of a group that was closed without it.
  if (synced.some(({ group }) => group !== null)) return;
  if (state.finishReason === null) {
    beginFinish(state, 'every worker has finished');
    letLeaversGo(state);
  }
  if (!synced.some((member) => member.finite)) return endWithoutModel(state);
  const candidates = synced.map((member) => ({ member, k: member.k, finite: member.finite }));
  formGroup(state, 'final', candidates, { rule: { rule: 'constant' }, weighting: 'equal' });
}

/** A part of the parameters is gone: what the workers hold is old, and nothing can be applied any more. */
export function endWithoutServer(state: RunState, reason: string): void {
  state.finishReason = reason;
  end(state, []);
}

/** An average that is not finite is no model: nobody is said to hold one. */
function endWithoutModel(state: RunState): void {
  const reason = state.finishReason ?? '';
  if (!reason.startsWith(NOTHING_FINITE)) state.finishReason = `${reason}, but ${NOTHING_FINITE}`;
  end(state, []);
}

/** The final average is held by all of the group, or has to be made again among the survivors. */
export function onFinalGroupClosed(state: RunState): void {
  const closed = state.effects.findLast((effect) => effect.type === 'groupClosed');
  if (closed?.group.kind !== 'final' || closed.aborted) return;
  end(state, closed.committed);
}

function end(state: RunState, holders: readonly Member['worker'][]): void {
  state.ended = true;
  const reason = state.finishReason ?? 'every worker has left or is dead';
  state.finishReason = reason;
  admitHeld(state);
  state.effects.push({ type: 'runEnded', reason, holders, progress: state.progress });
}
