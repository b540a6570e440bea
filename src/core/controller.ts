/**
 * The controller's state machine: events in, effects out; no sockets, timers or clocks (algorithms.md 3). Production, the
 * simulator and the property tests run this same code; the same events give the same effects.
 */
import { assert, assertPresent } from '../base/assert.js';
import {
  checkCheckpoint,
  checkpointDeadlineMs,
  completeCheckpoint,
  countLaterSteps,
  onCheckpointed,
  onCheckpointFailed,
} from './checkpoints.js';
import type { CoreConfig } from './config.js';
import { coolDownDeadlineMs, onJoinWithdrawn } from './cool-down.js';
import type { Effect } from './effects.js';
import {
  beginFinish,
  checkProgress,
  endWhenIdle,
  endWithoutServer,
  giveLeases,
  onFinalGroupClosed,
  onFinished,
  onLeaseRequested,
} from './ending.js';
import type { ControllerEvent, WorkerEvent } from './events.js';
import { type Continuation, persistChanges, restoreFacts } from './facts.js';
import { guardFinite } from './finite-guard.js';
import { closeGroups, formStepGroups, holdDeadlineMs, onAborted, onDone, onReady } from './groups.js';
import type { Member } from './member.js';
import {
  admitHeld,
  countWorkers,
  expelViolator,
  expireSuspects,
  findLife,
  letLeaversGo,
  onJoined,
  onResumed,
  onSuspected,
  onSynced,
  onTransferFailed,
  removeDead,
  startComputing,
  startTransfers,
  suspectDeadlineMs,
} from './membership.js';
import { onReturned, refuseReturn } from './returns.js';
import { createRunState, type RunState } from './run-state.js';
import { expireRests, restDeadlineMs } from './setbacks.js';
import { expireReports, onAnswered, onStalled, reportDeadlineMs } from './stalls.js';
import { validateCoreConfig } from './validate-config.js';
import { type RunView, viewOf } from './view.js';

export interface Controller {
  /** Number of this controller's life; group ids contain it. */
  readonly term: number;
  /** Takes one event; time never runs backwards. Gives what is to be done, in this order. */
  step(event: ControllerEvent): readonly Effect[];
  /** When a `tick` is due if nothing happens before; null: never. */
  nextDeadlineMs(): number | null;
  /** `nowMs`: the moment that is looked at; default: that of the last event. */
  view(nowMs?: number): RunView;
  /** rho of the last 1000 groups (algorithms.md 5), null without any. Costs a power iteration. */
  rho(): number | null;
}

/** `continuation`: the run goes on from what an earlier controller had written down, in a new term. Throws `bad-config`. */
export function createController(config: CoreConfig, continuation: Continuation | null = null): Controller {
  const state = createState(config, continuation);
  return {
    term: state.config.term,
    step(event) {
      assert(event.nowMs >= state.nowMs, `time runs backwards: ${event.nowMs} after ${state.nowMs}`);
      state.nowMs = event.nowMs;
      state.effects = [];
      if (state.ended) refuseLate(state, event);
      else {
        apply(state, event);
        if (!state.ended) settle(state);
      }
      persistChanges(state);
      return state.effects;
    },
    nextDeadlineMs() {
      if (state.ended) return null;
      const deadlines = [
        suspectDeadlineMs(state),
        reportDeadlineMs(state),
        holdDeadlineMs(state),
        restDeadlineMs(state),
        coolDownDeadlineMs(state),
        checkpointDeadlineMs(state),
      ].filter((deadline) => deadline !== null);
      return deadlines.length === 0 ? null : Math.min(...deadlines);
    },
    view: (nowMs = state.nowMs) => viewOf(state, nowMs),
    rho: () => state.history.rho(),
  };
}

function createState(config: CoreConfig, continuation: Continuation | null): RunState {
  if (continuation === null) {
    validateCoreConfig(config);
    return createRunState(config);
  }
  const { facts } = continuation;
  const inNewTerm = { ...config, term: facts.term + 1 };
  validateCoreConfig(inNewTerm);
  const state = createRunState(inNewTerm, facts);
  restoreFacts(state, continuation);
  return state;
}

function refuseLate(state: RunState, event: ControllerEvent): void {
  if (event.type === 'returned') return refuseReturn(state, event);
  if (event.type !== 'joined') return;
  state.effects.push({ type: 'refuse', ticket: event.ticket, reason: `the run is over: ${state.finishReason}` });
}

function apply(state: RunState, event: ControllerEvent): void {
  switch (event.type) {
    case 'tick':
      return;
    case 'stop':
      return beginFinish(state, event.reason);
    case 'serversReady':
      state.serversReady = true;
      return;
    case 'serverLost':
      return endWithoutServer(state, event.reason);
    case 'joined':
      return onJoined(state, event);
    case 'returned':
      return onReturned(state, findLife(state, event), event);
    case 'joinWithdrawn':
      return onJoinWithdrawn(state, event.ticket);
    default: {
      const member = findLife(state, event);
      if (member === null) return;
      const violation = applyToMember(state, member, event);
      if (violation !== null) expelViolator(state, member, violation);
    }
  }
}

/** Gives what is wrong with the event, where it breaks the protocol. */
function applyToMember(state: RunState, member: Member, event: WorkerEvent): string | null {
  switch (event.type) {
    case 'synced':
      if (member.phase !== 'syncing') return `said that it holds the model while ${member.phase}`;
      onSynced(state, member, event.k);
      return null;
    case 'transferFailed':
      if (member.phase !== 'syncing') return `gave up fetching the model while ${member.phase}`;
      onTransferFailed(state, member, event.reason);
      return null;
    case 'ready': {
      const violation = onReady(state, member, event);
      if (violation === null) countLaterSteps(state, member, event.samples, event.steps ?? 1);
      return violation;
    }
    case 'done':
    case 'aborted':
      if (member.group?.id !== event.group) {
        return `reported group ${event.group}, but its open group is ${member.group?.id ?? 'none'}`;
      }
      onReported(state, member, event);
      return null;
    case 'leaseRequested':
      return onLeaseRequested(state, member, event.finished);
    case 'checkpointed':
      return onCheckpointed(state, member, event);
    case 'checkpointFailed':
      onCheckpointFailed(state, member, event);
      return null;
    case 'finished':
      return onFinished(state, member);
    case 'leaving':
      member.leaving = true;
      state.roster.update(member);
      return null;
    case 'suspected':
      onSuspected(state, member, event.reason);
      return null;
    case 'resumed':
      onResumed(state, member);
      return null;
    case 'lost':
      removeDead(state, member, event.reason);
      return null;
    default:
      return event satisfies never;
  }
}

function onReported(state: RunState, member: Member, event: Extract<WorkerEvent, { type: 'done' | 'aborted' }>): void {
  const { group } = member;
  if (event.type === 'done') onDone(state, member);
  else onAborted(state, member, event.reason, event.stalled !== undefined);
  onAnswered(state, member);
  if (event.type === 'aborted' && event.stalled !== undefined) {
    onStalled(state, member, assertPresent(group, 'a group'), event.stalled);
  }
}

/** Does all that the event has made possible. The order matters: joiners come before the round that waits for them. */
function settle(state: RunState): void {
  expireSuspects(state);
  expireReports(state);
  expireRests(state);
  admitHeld(state);
  closeGroups(state);
  onFinalGroupClosed(state);
  if (state.ended) return;
  letLeaversGo(state);
  checkProgress(state);
  startTransfers(state);
  startComputing(state);
  giveLeases(state);
  if (guardFinite(state)) giveLeases(state);
  countWorkers(state);
  formStepGroups(state);
  // The drain may have let somebody go who only just joined.
  letLeaversGo(state);
  completeCheckpoint(state);
  checkCheckpoint(state);
  endWhenIdle(state);
}
