/**
 * Groups from the first signal to the last report (algorithms.md 3.1 to 3.4): READY, forming, DONE, abort.
 */
import { assertPresent } from '../base/assert.js';
import { groupId, type WorkerId } from '../base/ids.js';
import { chooseCollective } from './collectives.js';
import type { WorkerEvent } from './events.js';
import type { Group, GroupKind } from './group.js';
import type { Signal } from './grouping/signal-queue.js';
import { iterationMedianMs, type Member, recordIteration } from './member.js';
import { drawOf, goesOnByItself, misnumbered, onPassiveDone, passivesOf } from './passive.js';
import { isPaused } from './pause.js';
import {
  activeWorkers,
  enqueue,
  enter,
  noteMedian,
  type OpenGroup,
  type RunState,
  slowestIterationMs,
} from './run-state.js';
import { endSetbacks, onSetback } from './setbacks.js';
import type { ChosenGroup, GroupDecision } from './strategies/strategy.js';
import { type GroupWeighting, groupWeights } from './weights.js';

const HOLD_LEAST_MS = 1000;
const HOLD_ITERATIONS = 10;

function exchangesGradients(state: RunState): boolean {
  return state.strategy.replica.exchanges === 'gradient';
}

/** Takes a worker's signal. Gives what is wrong with it, where it breaks the protocol. */
export function onReady(
  state: RunState,
  member: Member,
  event: Extract<WorkerEvent, { type: 'ready' }>,
): string | null {
  const { k, steps = 1, samples, finite } = event;
  const stepsMax = state.strategy.stepsPerRound?.(state.config) ?? 1;
  if (member.phase !== 'computing')
    return `READY while ${member.phase}: one is due after each "start" or finished group`;
  if (steps < 1 || steps > stepsMax) return `READY after ${steps} local steps: expected 1 to ${stepsMax}`;
  const wrong = misnumbered(state, member, k, steps);
  if (wrong !== null) return wrong;
  const medianMs = iterationMedianMs(member);
  recordIteration(member, state.nowMs - member.phaseSinceMs);
  member.localSteps += steps;
  member.samples += samples;
  member.samplesSinceGroup += samples;
  member.finite = finite || exchangesGradients(state);
  const { progress } = state;
  state.progress = { samples: progress.samples + samples, localSteps: progress.localSteps + steps };
  member.counted = true;
  if (goesOnByItself(state, member, k)) {
    member.k = Math.max(member.k, k);
    enter(state, member, 'computing');
    state.effects.push({ type: 'wentOn', worker: member.worker, incarnation: member.incarnation });
  } else {
    enqueue(state, member, { worker: member.worker, k, finite, order: state.signalCount, sinceMs: state.nowMs });
    state.signalCount += 1;
  }
  noteMedian(state, member, medianMs);
  state.filter.heardFrom(member.worker);
  return null;
}

/** The worker holds the group's average. */
export function onDone(state: RunState, member: Member): void {
  const group = takeReported(state, member, 'committed');
  if (member.phase !== 'grouped') return onPassiveDone(state, member, group);
  const { kMax, kind, finite } = group;
  member.k = kMax;
  member.signal = null;
  member.samplesSinceGroup = 0;
  member.stalls = 0;
  endSetbacks(member);
  member.finite = finite || exchangesGradients(state);
  if (kind === 'step' && state.strategy.usesServers === true) state.pulls.pulled(member.worker);
  enter(state, member, kind === 'final' ? 'finished' : 'computing');
}

/** The worker holds its own vector from before: its signal goes back to its old place. */
export function onAborted(state: RunState, member: Member, reason: string, hasStalled: boolean): void {
  const { id, kind } = assertPresent(member.group, 'group');
  takeReported(state, member, 'aborted');
  if (kind === 'final') enter(state, member, 'finished');
  else if (member.phase === 'grouped') {
    // Stalls have a rule of their own.
    if (!hasStalled) onSetback(state, member, reason);
    enqueue(state, member, assertPresent(member.signal, `the signal of worker ${member.worker}`));
  } else state.roster.update(member);
  const open = state.openGroups.get(id);
  if (open !== undefined) abortGroup(state, open, `worker ${member.worker}: ${reason}`);
}

function takeReported(state: RunState, member: Member, outcome: 'committed' | 'aborted'): Group {
  const group = assertPresent(member.group, `the group of worker ${member.worker}`);
  member.group = null;
  // A suspect that comes back may report after its group was closed without it.
  const open = state.openGroups.get(group.id);
  if (open !== undefined) {
    open.pending.delete(member.worker);
    state.changedGroups.add(group.id);
    if (outcome === 'committed') open.committed.add(member.worker);
  }
  return group;
}

/** A member is lost, be it done or not: the others must not wait for what it owes them. */
export function abortGroupOf(state: RunState, member: Member, reason: string): void {
  const open = member.openGroup === null ? undefined : state.openGroups.get(member.openGroup);
  if (open === undefined) return;
  state.changedGroups.add(open.group.id);
  abortGroup(state, open, reason);
}

function abortGroup(state: RunState, open: OpenGroup, reason: string): void {
  if (open.aborted) return;
  open.aborted = true;
  state.abortedSinceMs.set(open.group.id, state.nowMs);
  const { group } = open;
  state.filter.aborted(group.id);
  state.history.aborted(group.id);
  // What one holds has been made by every server: it stands, and the others' gradients are late.
  if (open.committed.size === 0) state.pulls.aborted(group.id);
  const members = group.members
    .filter(({ worker, incarnation }) => open.pending.has(worker) && isLife(state, worker, incarnation))
    .map(({ worker, incarnation }) => ({ worker, incarnation }));
  const committed = [...open.committed];
  if (members.length > 0) state.effects.push({ type: 'abortGroup', group: group.id, members, committed, reason });
}

function isLife(state: RunState, worker: Member['worker'], incarnation: number): boolean {
  return state.members.get(worker)?.incarnation === incarnation;
}

/** Closes every group that nobody is waited for any more. */
export function closeGroups(state: RunState): void {
  // In the order in which they were formed.
  const changed = [...state.changedGroups].sort((a, b) => a - b);
  state.changedGroups.clear();
  for (const id of changed) {
    const open = state.openGroups.get(id);
    if (open === undefined) continue;
    const { group, pending, committed, aborted } = open;
    const awaited = group.members.some(({ worker, incarnation }) => {
      const isAlive = isLife(state, worker, incarnation);
      return isAlive && pending.has(worker) && state.members.get(worker)?.suspectSinceMs === null;
    });
    if (awaited) continue;
    state.openGroups.delete(id);
    state.abortedSinceMs.delete(id);
    for (const { worker, incarnation } of group.members) {
      const member = state.members.get(worker);
      if (member?.incarnation !== incarnation) continue;
      member.openGroup = null;
      state.roster.update(member);
    }
    const held = group.members.map(({ worker }) => worker).filter((worker) => committed.has(worker));
    if (!aborted && exchangesGradients(state)) state.roundsNotFinite = group.finite ? 0 : state.roundsNotFinite + 1;
    state.effects.push({ type: 'groupClosed', group, committed: held, aborted });
  }
}

export interface GroupCandidate {
  readonly member: Member;
  readonly k: number;
  readonly finite: boolean;
  /** It goes on with what it does. Default false. */
  readonly isPassive?: boolean;
}

function isWeights(weighting: GroupWeighting | readonly number[]): weighting is readonly number[] {
  return Array.isArray(weighting);
}

/** Sends a group out. Sums run in the order of the candidates. */
export function formGroup(
  state: RunState,
  kind: GroupKind,
  candidates: readonly GroupCandidate[],
  weighting: GroupWeighting | readonly number[],
): Group {
  const inputs = candidates.map(({ member, k, finite }) => ({ k, finite, samples: member.samplesSinceGroup }));
  const weights = isWeights(weighting) ? weighting : groupWeights(inputs, weighting);
  const clips = state.config.robust === 'clip';
  const group: Group = {
    id: groupId(state.config.term, state.groupCount),
    kind,
    collective:
      kind === 'step' && state.strategy.usesServers === true
        ? 'server'
        : chooseCollective(clips ? 'direct' : state.config.collective, candidates.length),
    ...(clips ? { clips } : {}),
    members: candidates.map(({ member, k, isPassive = false }, i) => ({
      worker: member.worker,
      incarnation: member.incarnation,
      k,
      weight: assertPresent(weights[i], 'a weight per member'),
      ...(isPassive ? { passive: true } : {}),
    })),
    kMax: Math.max(...candidates.map(({ k }) => k)),
    finite: candidates.some(({ finite }) => finite),
  };
  state.groupCount += 1;
  const workers = candidates.map(({ member }) => member.worker);
  state.openGroups.set(group.id, { group, pending: new Set(workers), committed: new Set(), aborted: false });
  for (const { member, isPassive = false } of candidates) {
    member.group = group;
    member.openGroup = group.id;
    if (isPassive) state.roster.update(member);
    else enter(state, member, 'grouped');
  }
  state.effects.push({ type: 'formGroup', group, progress: state.progress });
  return group;
}

/** Groups whoever the strategy says, until it says wait. */
export function formStepGroups(state: RunState): void {
  for (;;) {
    const signals = state.roster.groupable;
    if (isPaused(state)) {
      state.waitReason = `waiting for ${state.config.minLiveWorkers} workers to be there`;
      return endHold(state);
    }
    if (signals.length === 0) return endHold(state);
    const decision = decide(state, signals);
    if ('alone' in decision) releaseAlone(state, decision.alone);
    else if ('group' in decision) {
      endHold(state);
      formStepGroup(state, decision);
    } else {
      state.waitReason = decision.wait;
      if (!decision.held) return endHold(state);
      state.hold ??= { sinceMs: state.nowMs };
      if (state.nowMs < state.hold.sinceMs + holdTimeoutMs(state)) return;
      expireHold(state, signals);
    }
  }
}

/**
 * A group of replicas needs a finite one: the others have nothing to average, and take its values. Where the choice has none the
 * oldest finite signal is of it.
 */
function decide(state: RunState, signals: readonly Signal[]): GroupDecision {
  // A passive member may be the finite one.
  if (exchangesGradients(state) || state.strategy.passive !== undefined) return decideInOrder(state, signals);
  const [first] = signals;
  if (first !== undefined && !signals.some(({ finite }) => finite)) {
    if (state.finishReason !== null) return { alone: first };
    return { wait: 'waiting for a worker whose values are finite', held: false };
  }
  const decision = decideInOrder(state, signals);
  if (!('group' in decision) || decision.group.some(({ finite }) => finite)) return decision;
  const sound = decideInOrder(state, finiteFirst(signals));
  return 'group' in sound ? { group: sound.group.toSorted((a, b) => a.order - b.order) } : sound;
}

/** The oldest finite signal before the others. */
function finiteFirst(signals: readonly Signal[]): readonly Signal[] {
  const sound = signals.find(({ finite }) => finite);
  return sound === undefined ? signals : [sound, ...signals.filter((signal) => signal !== sound)];
}

/** While the run drains nobody waits for others, except in rounds, which are all there or not at all. */
function decideInOrder(state: RunState, signals: readonly Signal[]): GroupDecision {
  const { config, strategy, filter, pulls } = state;
  const [first] = signals;
  // A gradient at the end is applied like any other.
  if (state.finishReason !== null && !strategy.synchronous && strategy.usesServers !== true) {
    if (strategy.passive !== undefined && first !== undefined) return { alone: first };
    const group = signals.slice(0, config.groupSize);
    return group.length < 2 && first !== undefined ? { alone: first } : { group };
  }
  const active = expectedWorkers(state);
  // Rounds wait for those who were in the run before its controller was started again.
  const joinerCount = state.roster.count('coming') + state.roster.count('returning');
  const passives = passivesOf(state.roster);
  const draw = () => drawOf(state);
  const context = { signals, active, joinerCount, filter, pulls, passives, draw };
  return strategy.chooseGroup(context, config);
}

/** Whom a group may wait for. Rounds are of all; else nobody waits for one that rests. */
function expectedWorkers(state: RunState): readonly WorkerId[] {
  const active = activeWorkers(state);
  const { synchronous, passive, usesServers } = state.strategy;
  if (state.resting.size === 0 || synchronous || passive !== undefined || usesServers === true) return active;
  return active.filter((worker) => state.members.get(worker)?.restsUntilMs === null);
}

function takeFromQueue(state: RunState, signal: Signal): Member {
  state.queue.remove(signal.worker);
  return assertPresent(state.members.get(signal.worker), `worker ${signal.worker}`);
}

function formStepGroup(state: RunState, { group: signals, passive = [], weights }: ChosenGroup): void {
  const active = signals.map((signal) => ({ ...signal, member: takeFromQueue(state, signal) }));
  const others = passive.map((worker) => {
    const member = assertPresent(state.members.get(worker), `worker ${worker}`);
    return { worker, member, k: member.k, finite: member.finite, isPassive: true };
  });
  const candidates = [...active, ...others];
  const { config, strategy } = state;
  const weighting = strategy.passive === undefined ? config.weighting : 'equal';
  const group = formGroup(state, 'step', candidates, weights ?? { rule: strategy.weights(config), weighting });
  state.pace.formed(state.nowMs);
  // Who meets at a server meets everybody: there is nothing to connect, and nothing that mixes.
  if (strategy.usesServers === true) return state.pulls.formed(group);
  state.filter.formed(
    group.id,
    candidates.map(({ worker }) => worker),
  );
  if (state.finishReason === null) state.history.formed(group);
}

function releaseAlone(state: RunState, signal: Signal): void {
  endHold(state);
  const member = takeFromQueue(state, signal);
  member.k = signal.k;
  member.signal = null;
  // A gradient is of one step; a replica keeps what it took in until it meets others.
  if (state.strategy.replica.exchanges === 'gradient') member.samplesSinceGroup = 0;
  enter(state, member, 'computing');
  const { worker, incarnation } = member;
  state.effects.push({ type: 'release', worker, incarnation, k: signal.k, progress: state.progress });
}

function endHold(state: RunState): void {
  if (state.hold !== null) state.holdMs += state.nowMs - state.hold.sinceMs;
  state.hold = null;
}

/** A hold must never become a deadlock: the queue's first go together, those who did not come are ignored until they do. */
function expireHold(state: RunState, signals: readonly Signal[]): void {
  endHold(state);
  state.holdsExpired += 1;
  state.filter.holdExpired(signals.map((signal) => signal.worker));
  const size = Math.min(state.config.groupSize, activeWorkers(state).length);
  const message = `a hold for connectivity lasted ${holdTimeoutMs(state)} ms: grouping without the missing workers`;
  state.effects.push({ type: 'log', kind: 'hold-expired', worker: null, message });
  const first = signals.slice(0, size);
  formStepGroup(state, { group: first.some(({ finite }) => finite) ? first : finiteFirst(signals).slice(0, size) });
}

function holdTimeoutMs(state: RunState): number {
  const { holdTimeoutMs: fixed } = state.config;
  if (fixed !== 'auto') return fixed;
  return Math.max(HOLD_LEAST_MS, HOLD_ITERATIONS * slowestIterationMs(state));
}

/** When the present hold ends at the latest; null without one. */
export function holdDeadlineMs(state: RunState): number | null {
  return state.hold === null ? null : state.hold.sinceMs + holdTimeoutMs(state);
}
