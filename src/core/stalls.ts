/**
 * Members that hold their group up (algorithms.md 3.3): one that is there and moves no data, as another says, and one that does
 * not answer when the group is given up. The rules are the project's own.
 *
 * Who is right, accuser or accused, cannot be told from one group. The accused counts as suspect until it answers itself, and
 * goes to the end of the queue, so that both meet others next: whoever the fault goes with is out after three groups running.
 */
import type { GroupId, WorkerId } from '../base/ids.js';
import type { Group } from './group.js';
import type { Member } from './member.js';
import { beginSuspicion, endSuspicion, removeDead } from './membership.js';
import type { RunState } from './run-state.js';

/** Groups running that stalled with a worker, as accuser or accused, before it is given up. */
const STALLS_MAX = 3;

/** `accuser` gave `group` up, since nothing moved between it and `worker`. */
export function onStalled(state: RunState, accuser: Member, group: Group, worker: WorkerId): void {
  const accused = state.members.get(worker);
  const isOfGroup = group.members.some((each) => each.worker === worker && each.incarnation === accused?.incarnation);
  const isSilent = state.openGroups.get(group.id)?.pending.has(worker) === true;
  // Who has answered has given the group up before, or holds the average; servers are nobody's to judge here.
  if (accused === undefined || !isOfGroup || !isSilent || accused === accuser) return;
  accuser.stalls += 1;
  accused.stalls += 1;
  const message = `worker ${worker} held up group ${group.id}: it moved no data, says worker ${accuser.worker}`;
  state.effects.push({ type: 'log', kind: 'stalled', worker, message });
  if (accused.stalls >= STALLS_MAX) {
    accuser.stalls = 0;
    return removeDead(state, accused, `it moved no data in ${STALLS_MAX} groups running`);
  }
  holdOut(state, accused);
  if (accuser.stalls >= STALLS_MAX)
    removeDead(state, accuser, `nobody moved data with it in ${STALLS_MAX} groups running`);
}

function holdOut(state: RunState, accused: Member): void {
  accused.mustAnswer = true;
  // A passive member's signal is no part of this group.
  if (accused.phase === 'grouped' && accused.signal !== null) {
    accused.signal = { ...accused.signal, order: state.signalCount };
    state.signalCount += 1;
  }
  beginSuspicion(state, accused);
}

/** It has reported its group's outcome: whether heartbeats come is not what is in doubt any more. */
export function onAnswered(state: RunState, member: Member): void {
  if (!member.mustAnswer) return;
  member.mustAnswer = false;
  endSuspicion(state, member);
}

/** Nobody waits for ever for a member that was told to give up and says nothing about it, though it lives. */
export function expireReports(state: RunState): void {
  for (const [id, sinceMs] of state.abortedSinceMs) {
    if (state.nowMs < sinceMs + state.config.livenessMs) continue;
    state.abortedSinceMs.delete(id);
    for (const member of silentIn(state, id)) {
      removeDead(
        state,
        member,
        `it said nothing about group ${id}, which was given up ${state.config.livenessMs} ms ago`,
      );
    }
  }
}

function silentIn(state: RunState, id: GroupId): readonly Member[] {
  const open = state.openGroups.get(id);
  if (open === undefined) return [];
  return open.group.members.flatMap(({ worker, incarnation }) => {
    const member = state.members.get(worker);
    return member?.incarnation === incarnation && open.pending.has(worker) ? [member] : [];
  });
}

/** When a report is overdue, at the earliest; null where none is. */
export function reportDeadlineMs(state: RunState): number | null {
  const { abortedSinceMs, config } = state;
  return abortedSinceMs.size === 0 ? null : Math.min(...abortedSinceMs.values()) + config.livenessMs;
}
