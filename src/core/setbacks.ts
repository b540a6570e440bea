/**
 * Members whose groups fail again and again: one that can open no connection, say, though it is alive and answers. Without
 * a rest it would be back in the queue at once, meet the same members, and keep them from ever meeting each other. The rule is the
 * project's own: who is at fault cannot be told from one group, so every member rests, and whoever then has a group that works
 * starts anew. The fault's own member rests longer each time.
 */
import type { Member } from './member.js';
import type { RunState } from './run-state.js';

/** Aborted groups running that cost no time: a death, or a pause, is no pattern. */
const FREE_SETBACKS = 2;
/** The first rest is this part of a liveness time-out; each one after it is twice as long, up to one liveness time-out. */
const FIRST_REST_PART = 1 / 64;

/** How long a member rests whose last `setbacks` groups were all aborted, in ms. */
export function restMs(setbacks: number, livenessMs: number): number {
  if (setbacks <= FREE_SETBACKS) return 0;
  return livenessMs * Math.min(1, FIRST_REST_PART * 2 ** (setbacks - FREE_SETBACKS - 1));
}

/** Its group was aborted, and its signal is about to be back in the queue. */
export function onSetback(state: RunState, member: Member, reason: string): void {
  member.setbacks += 1;
  const ms = restMs(member.setbacks, state.config.livenessMs);
  if (ms === 0) return;
  member.restsUntilMs = state.nowMs + ms;
  state.resting.add(member);
  const { worker, setbacks } = member;
  const message = `worker ${worker} rests for ${Math.round(ms)} ms: its last ${setbacks} groups failed, this one with "${reason}"`;
  state.effects.push({ type: 'log', kind: 'setback', worker, message });
}

/** It holds a group's average. */
export function endSetbacks(member: Member): void {
  member.setbacks = 0;
}

/** Whose rest is over may be grouped. */
export function expireRests(state: RunState): void {
  for (const member of state.resting) {
    const { restsUntilMs } = member;
    if (restsUntilMs !== null && state.nowMs < restsUntilMs) continue;
    member.restsUntilMs = null;
    state.resting.delete(member);
    // Not one that is dead: the roster has forgotten it.
    if (state.members.get(member.worker) === member) state.roster.update(member);
  }
}

/** When a rest is over, at the earliest; null where nobody rests. */
export function restDeadlineMs({ resting }: RunState): number | null {
  const ends = [...resting].flatMap(({ restsUntilMs }) => restsUntilMs ?? []);
  return ends.length === 0 ? null : Math.min(...ends);
}
