/**
 * Who takes part (algorithms.md 3.3): joins, the model's way to joiners, suspects, deaths, leaves.
 */
import { assertPresent } from '../base/assert.js';
import { type WorkerId, workerId } from '../base/ids.js';
import type { ControllerEvent, Life } from './events.js';
import { abortGroupOf } from './groups.js';
import { createMember, isActive, isSynced, type Member } from './member.js';
import { enter, groupableSignals, type RunState } from './run-state.js';

/** How often a joiner may fail to get the model before it is given up. */
const TRANSFER_FAILURES_MAX = 10;

export function lifeOf(member: Member): Life {
  return { worker: member.worker, incarnation: member.incarnation };
}

export function onJoined(state: RunState, event: Extract<ControllerEvent, { type: 'joined' }>): void {
  const { ticket, requested } = event;
  if (state.finishReason !== null) {
    state.effects.push({ type: 'refuse', ticket, reason: `the run is ending: ${state.finishReason}` });
    return;
  }
  if (requested !== null) {
    const holder = state.members.get(requested);
    if (holder !== undefined && holder.suspectSinceMs === null) {
      const reason = `worker ${requested} is in this run and alive: ask for another number, or for none`;
      state.effects.push({ type: 'refuse', ticket, reason });
      return;
    }
    // Whoever asks for a suspect's number is its successor.
    if (holder !== undefined) removeDead(state, holder, 'a new worker took its number');
  }
  const worker = requested ?? freeNumber(state);
  const incarnation = (state.incarnations.get(worker) ?? 0) + 1;
  state.incarnations.set(worker, incarnation);
  const member = createMember(worker, incarnation, state.nowMs);
  const others = [...state.members.values()];
  state.members.clear();
  for (const each of [...others, member].toSorted((a, b) => a.worker - b.worker)) state.members.set(each.worker, each);
  state.effects.push({ type: 'admit', ticket, worker, incarnation });
}

/** The lowest number that nobody ever had, so that a number always means one worker and its successors by request. */
function freeNumber(state: RunState): WorkerId {
  let number = 0;
  while (state.incarnations.has(workerId(number))) number += 1;
  return workerId(number);
}

export function onSynced(state: RunState, member: Member, k: number): void {
  member.k = k;
  member.donor = null;
  enter(state, member, 'waiting');
}

export function onTransferFailed(state: RunState, member: Member, reason: string): void {
  if (member.donor !== null) member.failedDonors.add(member.donor);
  member.donor = null;
  member.transferFailures += 1;
  enter(state, member, 'joining');
  if (member.transferFailures >= TRANSFER_FAILURES_MAX) {
    removeDead(
      state,
      member,
      `it failed ${member.transferFailures} times to fetch the model, the last time: ${reason}`,
    );
  }
}

export function onSuspected(state: RunState, member: Member, reason: string): void {
  member.suspectSinceMs ??= state.nowMs;
  state.active = null;
  abortGroupOf(state, member, `worker ${member.worker}: ${reason}`);
}

export function onResumed(state: RunState, member: Member): void {
  member.suspectSinceMs = null;
  state.active = null;
}

/** Takes a life out of the run; whatever it still sends is fenced by its incarnation. */
export function removeDead(state: RunState, member: Member, reason: string): void {
  takeOut(state, member);
  abortGroupOf(state, member, `worker ${member.worker} is dead: ${reason}`);
  state.effects.push({ type: 'dead', ...lifeOf(member), reason });
}

/** A protocol error of its own making: nothing that this life says can be relied on. */
export function expelViolator(state: RunState, member: Member, message: string): void {
  state.effects.push({ type: 'violation', ...lifeOf(member), message });
  removeDead(state, member, `protocol violation: ${message}`);
}

function takeOut(state: RunState, member: Member): void {
  state.members.delete(member.worker);
  state.queue.remove(member.worker);
  state.ledger?.giveBack(member.worker);
  state.collection?.pending.delete(member.worker);
  state.active = null;
}

export function expireSuspects(state: RunState): void {
  for (const member of state.members.values()) {
    if (member.suspectSinceMs === null || state.nowMs < member.suspectSinceMs + state.config.livenessMs) continue;
    removeDead(state, member, `no sign of life within the liveness time-out of ${state.config.livenessMs} ms`);
  }
}

/** A leave takes effect once no group counts on the worker. */
export function letLeaversGo(state: RunState): void {
  for (const member of state.members.values()) {
    if (!member.leaving || member.openGroup !== null || member.group !== null) continue;
    takeOut(state, member);
    state.effects.push({ type: 'left', ...lifeOf(member) });
  }
}

/** Gives every worker that waits for the model a donor, as far as there is one. */
export function startTransfers(state: RunState): void {
  const joining = [...state.members.values()].filter(
    (member) => member.phase === 'joining' && member.suspectSinceMs === null,
  );
  if (joining.length === 0) return;
  if (state.config.restored !== null && !state.started) {
    // Each brings the replica that it had.
    for (const joiner of joining) {
      enter(state, joiner, 'syncing');
      state.effects.push({ type: 'seed', ...lifeOf(joiner) });
    }
    return;
  }
  const settled = [...state.members.values()].some((member) => isSynced(member) || member.phase === 'syncing');
  const [first] = joining;
  if (!settled && !state.started && first !== undefined) {
    enter(state, first, 'syncing');
    state.effects.push({ type: 'seed', ...lifeOf(first) });
    return;
  }
  if (!mayTransfer(state)) return;
  for (const joiner of joining) {
    const donor = chooseDonor(state, joiner);
    if (donor === null) continue;
    joiner.donor = donor.worker;
    enter(state, joiner, 'syncing');
    state.effects.push({ type: 'transfer', joiner: lifeOf(joiner), donor: lifeOf(donor) });
  }
}

/** Synchronous replicas are the same only between rounds: when every active worker has sent its signal. */
function mayTransfer(state: RunState): boolean {
  if (!state.strategy.synchronous || !state.started) return true;
  const active = [...state.members.values()].filter(isActive);
  return groupableSignals(state).length === active.length;
}

/** The least busy of those whose model is fresh enough (algorithms.md 3.3), one that has not failed this joiner first. */
function chooseDonor(state: RunState, joiner: Member): Member | null {
  const members = [...state.members.values()];
  const able = members.filter(
    (member) => isSynced(member) && member.finite && member.suspectSinceMs === null && !member.leaving,
  );
  const kMax = Math.max(...able.map((member) => member.k));
  // A synchronous joiner must be of the others' round: who has finished may be of an earlier one.
  const lag = state.strategy.synchronous ? 0 : able.length;
  const transfers = (donor: Member): number => members.filter((member) => member.donor === donor.worker).length;
  const ranked = able
    .filter((member) => member.k >= kMax - lag)
    .map((member) => ({ member, failed: Number(joiner.failedDonors.has(member.worker)), busy: transfers(member) }))
    .toSorted((a, b) => a.failed - b.failed || a.busy - b.busy || a.member.worker - b.member.worker);
  return ranked[0]?.member ?? null;
}

/** Starts the run when enough workers hold the model; later joiners start as soon as they do. */
export function startComputing(state: RunState): void {
  const waiting = [...state.members.values()].filter((member) => member.phase === 'waiting');
  if (waiting.length === 0) return;
  const startsNow = !state.started;
  if (startsNow) {
    const present = waiting.filter((member) => member.suspectSinceMs === null && !member.leaving);
    if (present.length < state.config.minWorkers) return;
    state.started = true;
    state.checkpointedAt = { ...state.checkpointedAt, timeMs: state.nowMs };
  }
  for (const member of waiting) {
    member.counted = startsNow;
    enter(state, member, 'computing');
    state.effects.push({ type: 'start', ...lifeOf(member) });
  }
}

/** Whom rho is about: the living workers that count. */
export function countWorkers(state: RunState): void {
  const counted = [...state.members.values()].filter((member) => member.counted);
  state.history.workersChanged(counted.map((member) => member.worker));
}

/** When a suspect's time is up, at the earliest; null without suspects. */
export function suspectDeadlineMs(state: RunState): number | null {
  const since = [...state.members.values()].flatMap((member) => member.suspectSinceMs ?? []);
  return since.length === 0 ? null : Math.min(...since) + state.config.livenessMs;
}

/** The member whose life an event is of; null when that life is over. */
export function findLife(state: RunState, life: Life): Member | null {
  const member = state.members.get(life.worker);
  return member?.incarnation === life.incarnation ? assertPresent(member, 'member') : null;
}
