/**
 * Who takes part (algorithms.md 3.3): joins, the model's way to joiners, suspects, deaths, leaves.
 */
import { assertPresent } from '../base/assert.js';
import { type WorkerId, workerId } from '../base/ids.js';
import { type JoinEvent, noteDeath, shortLivesBefore, takeHeld } from './cool-down.js';
import type { Life } from './events.js';
import { abortGroupOf } from './groups.js';
import { hasMissedRound } from './passive.js';
import { createMember, isSynced, type Member } from './member.js';
import { enter, type RunState } from './run-state.js';

/** How often a joiner may fail to get the model before it is given up. */
const TRANSFER_FAILURES_MAX = 10;
/** How long a controller that was started again waits for the workers of before, in liveness time-outs. */
const RETURN_TIMEOUTS = 6;
/** Worse than any number of joiners to serve. */
const FAILED_BEFORE = 1e9;

export function lifeOf(member: Member): Life {
  return { worker: member.worker, incarnation: member.incarnation };
}

export function onJoined(state: RunState, event: JoinEvent): void {
  if (!mayJoin(state, event)) return;
  const shortLives = shortLivesBefore(state, event);
  if (shortLives !== null) admit(state, event, shortLives);
}

/** Lets in whose cool-down is over; refuses everybody where the run ends. */
export function admitHeld(state: RunState): void {
  const isEnding = state.finishReason !== null;
  for (const { event, life } of takeHeld(state, ({ untilMs }) => isEnding || untilMs <= state.nowMs)) {
    if (mayJoin(state, event)) admit(state, event, life.count);
  }
}

/** Refuses where it may not; a suspect whose number is asked for is dead. */
function mayJoin(state: RunState, { ticket, requested }: JoinEvent): boolean {
  if (state.finishReason !== null) {
    state.effects.push({ type: 'refuse', ticket, reason: `the run is ending: ${state.finishReason}` });
    return false;
  }
  if (requested !== null) {
    const holder = state.members.get(requested);
    if (holder !== undefined && holder.suspectSinceMs === null) {
      const reason = `worker ${requested} is in this run and alive: ask for another number, or for none`;
      state.effects.push({ type: 'refuse', ticket, reason });
      return false;
    }
    // Whoever asks for a suspect's number is its successor.
    if (holder !== undefined) removeDead(state, holder, 'a new worker took its number');
  }
  return true;
}

function admit(state: RunState, event: JoinEvent, shortLives: number): void {
  const { ticket, requested } = event;
  const worker = requested ?? freeNumber(state);
  const incarnation = (state.incarnations.get(worker) ?? 0) + 1;
  state.incarnations.set(worker, incarnation);
  const member = createMember(worker, incarnation, state.nowMs, { hostname: event.hostname ?? null, shortLives });
  insert(state, member);
  state.effects.push({ type: 'admit', ticket, worker, incarnation });
}

/** Keeps the members in ascending order. Most have a higher number than all before. */
export function insert(state: RunState, member: Member): void {
  const { members, roster } = state;
  state.membershipVersion += 1;
  const later = [...members.values()].filter((other) => other.worker > member.worker);
  for (const { worker } of later) members.delete(worker);
  for (const each of [member, ...later]) members.set(each.worker, each);
  roster.update(member);
}

/** The lowest number that nobody ever had, so that a number always means one worker and its successors by request. */
function freeNumber(state: RunState): WorkerId {
  while (state.incarnations.has(workerId(state.nextNumber))) state.nextNumber += 1;
  return workerId(state.nextNumber);
}

export function onSynced(state: RunState, member: Member, k: number): void {
  member.k = k;
  member.donor = null;
  state.membershipVersion += 1;
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
  member.silent = true;
  beginSuspicion(state, member);
  abortGroupOf(state, member, `worker ${member.worker}: ${reason}`);
}

export function onResumed(state: RunState, member: Member): void {
  member.silent = false;
  endSuspicion(state, member);
}

/** To be called for a member that is silent, or must answer, since now. */
export function beginSuspicion(state: RunState, member: Member): void {
  if (member.suspectSinceMs === null) {
    member.suspectSinceMs = state.nowMs;
    member.suspectSinceGroup = state.groupCount;
  }
  state.roster.update(member);
}

/** Ends it where nothing else keeps it up: heartbeats are no answer, and an answer that was under way is no sign of life. */
export function endSuspicion(state: RunState, member: Member): void {
  if (member.silent || member.mustAnswer || member.suspectSinceMs === null) return;
  if (isSynced(member) && hasMissedRound(state, member))
    return removeDead(state, member, 'rounds went by while it was silent');
  member.suspectSinceMs = null;
  state.roster.update(member);
}

/** Takes a life out of the run; whatever it still sends is fenced by its incarnation. */
export function removeDead(state: RunState, member: Member, reason: string): void {
  takeOut(state, member);
  noteDeath(state, member);
  abortGroupOf(state, member, `worker ${member.worker} is dead: ${reason}`);
  state.effects.push({ type: 'dead', ...lifeOf(member), reason });
}

/** A protocol error of its own making: nothing that this life says can be relied on. */
export function expelViolator(state: RunState, member: Member, message: string): void {
  state.effects.push({ type: 'violation', ...lifeOf(member), message });
  removeDead(state, member, `protocol violation: ${message}`);
}

function takeOut(state: RunState, member: Member): void {
  state.membershipVersion += 1;
  state.members.delete(member.worker);
  state.roster.remove(member);
  state.queue.remove(member.worker);
  state.ledger?.giveBack(member.worker);
  state.collection?.pending.delete(member.worker);
}

export function expireSuspects(state: RunState): void {
  for (const member of state.roster.list('suspects')) {
    const { suspectSinceMs, returning } = member;
    if (suspectSinceMs === null || state.nowMs < suspectSinceMs + placeKeptMs(state, member)) continue;
    const limit = `${returning ? '' : 'the liveness time-out of '}${placeKeptMs(state, member)} ms`;
    removeDead(state, member, `${returning ? 'it did not come back' : 'no sign of life'} within ${limit}`);
  }
}

/** How long a suspect keeps its place, in ms. Who lost its controller may have given up trying for a while. */
function placeKeptMs({ config }: RunState, { returning }: Member): number {
  return returning ? RETURN_TIMEOUTS * config.livenessMs : config.livenessMs;
}

/** A leave takes effect once no group counts on the worker. */
export function letLeaversGo(state: RunState): void {
  for (const member of state.roster.list('leavers')) {
    if (member.openGroup !== null || member.group !== null) continue;
    takeOut(state, member);
    state.effects.push({ type: 'left', ...lifeOf(member) });
  }
}

/** Gives every worker that waits for the model a donor, as far as there is one. */
export function startTransfers(state: RunState): void {
  const { members, roster } = state;
  if (roster.count('joining') === 0) return;
  if (state.config.restored !== null && !state.started) {
    // Each brings the replica that it had.
    for (const joiner of roster.list('joining')) {
      enter(state, joiner, 'syncing');
      state.effects.push({ type: 'seed', ...lifeOf(joiner) });
    }
    return;
  }
  if (!state.started && [...members.values()].every((member) => member.phase === 'joining')) {
    const [first] = roster.list('joining');
    if (first === undefined) return;
    enter(state, first, 'syncing');
    state.effects.push({ type: 'seed', ...lifeOf(first) });
    return;
  }
  if (roster.count('donors') === 0 || !mayTransfer(state)) return;
  const donors = roster.list('donors');
  const busy = transfersOf(members.values());
  for (const joiner of roster.list('joining')) {
    const donor = chooseDonor(state, joiner, { donors, busy });
    if (donor === null) continue;
    joiner.donor = donor.worker;
    state.pulls.handedOver(joiner.worker, donor.worker);
    busy.set(donor.worker, (busy.get(donor.worker) ?? 0) + 1);
    enter(state, joiner, 'syncing');
    state.effects.push({ type: 'transfer', joiner: lifeOf(joiner), donor: lifeOf(donor) });
  }
}

/** Synchronous replicas are the same only between rounds: when every active worker has sent its signal. */
function mayTransfer(state: RunState): boolean {
  if (!state.strategy.synchronous || !state.started) return true;
  // No round may come between the state that a joiner gets and its first: the strategy forms none until it has it.
  if (state.strategy.passive === 'everybody') return state.openGroups.size === 0 && state.roster.groupable.length > 0;
  return state.roster.groupable.length === state.roster.count('active');
}

/** Joiners that each donor serves. */
function transfersOf(members: Iterable<Member>): Map<WorkerId, number> {
  const transfers = new Map<WorkerId, number>();
  for (const { donor } of members) if (donor !== null) transfers.set(donor, (transfers.get(donor) ?? 0) + 1);
  return transfers;
}

/** The least busy of those whose model is fresh enough (algorithms.md 3.3), one that has not failed this joiner first. */
function chooseDonor(
  state: RunState,
  joiner: Member,
  { donors, busy }: { readonly donors: readonly Member[]; readonly busy: ReadonlyMap<WorkerId, number> },
): Member | null {
  const kMax = donors.reduce((most, member) => Math.max(most, member.k), 0);
  // A synchronous joiner must be of the others' round: who has finished may be of an earlier one.
  const lag = state.strategy.synchronous ? 0 : donors.length;
  const rankOf = ({ worker }: Member): number =>
    (joiner.failedDonors.has(worker) ? FAILED_BEFORE : 0) + (busy.get(worker) ?? 0);
  // Of the others one cannot tell which rounds the state that they hand over contains.
  const mustBeQueued = state.strategy.passive === 'everybody' && state.started;
  const groupable = new Set(state.roster.groupable.map(({ worker }) => worker));
  let best: Member | null = null;
  // Ascending: of equals the lowest number is taken.
  for (const member of donors) {
    if (mustBeQueued && !groupable.has(member.worker)) continue;
    if (member.k >= kMax - lag && (best === null || rankOf(member) < rankOf(best))) best = member;
  }
  return best;
}

/** Starts the run when enough workers hold the model; later joiners start as soon as they do. */
export function startComputing(state: RunState): void {
  const startsNow = !state.started;
  if (startsNow && state.strategy.usesServers === true && !state.serversReady) return;
  if (state.roster.count('waiting') < (startsNow ? state.config.minWorkers : 1)) return;
  const waiting = state.roster.list('waiting');
  if (startsNow) {
    const present = waiting.filter((member) => member.suspectSinceMs === null && !member.leaving);
    if (present.length < state.config.minWorkers) return;
    state.started = true;
    state.checkpointedAt = { ...state.checkpointedAt, timeMs: state.nowMs };
  }
  for (const member of waiting) {
    // Every round since the state that it got is also its own.
    member.counted ||= startsNow || state.strategy.passive === 'everybody';
    enter(state, member, 'computing');
    state.effects.push({ type: 'start', ...lifeOf(member) });
    // It came back from before the start, and the run ends meanwhile.
    const reason = state.finishReason;
    if (reason !== null) state.effects.push({ type: 'finish', ...lifeOf(member), reason });
  }
}

/** Whom rho is about: the living workers that count. */
export function countWorkers(state: RunState): void {
  const version = state.roster.version('counted');
  if (version === state.countedVersion) return;
  state.countedVersion = version;
  state.history.workersChanged(state.roster.list('counted').map((member) => member.worker));
}

/** When a suspect's time is up, at the earliest; null without suspects. */
export function suspectDeadlineMs(state: RunState): number | null {
  const due = state.roster
    .list('suspects')
    .flatMap((member) => (member.suspectSinceMs === null ? [] : member.suspectSinceMs + placeKeptMs(state, member)));
  return due.length === 0 ? null : Math.min(...due);
}

/** The member whose life an event is of; null when that life is over. */
export function findLife(state: RunState, life: Life): Member | null {
  const member = state.members.get(life.worker);
  return member?.incarnation === life.incarnation ? assertPresent(member, 'member') : null;
}
