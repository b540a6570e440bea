/**
 * The cool-down of workers that come and die again and again (algorithms.md 3.3): each life costs the others a transfer of the model,
 * aborted groups and a rebuilt sync-graph. Who follows a row of short lives waits before it is let in, longer with each, up to a
 * limit. The rule is the project's own.
 *
 * Who asks for a number follows the last life of that number; who asks for none, some life on the same machine. Each death has one
 * follower, so that eight workers that died at once come back at once.
 */
import type { WorkerId } from '../base/ids.js';
import type { UntimedEvent } from './events.js';
import type { Member } from './member.js';
import type { RunState } from './run-state.js';

/** A life shorter than this is a short one, in liveness time-outs. What is older than that is forgotten, too. */
const SHORT_LIFE_TIMEOUTS = 10;
/** Short lives in a row that cost no time. */
const FREE_LIVES = 2;
/** The cool-down after one more is one liveness time-out, and doubles up to this many. */
const TIMEOUTS_MAX = 32;

export type JoinEvent = Extract<UntimedEvent, { type: 'joined' }>;

/** A short life that ended, and that nobody has followed yet. */
export interface ShortLife {
  readonly worker: WorkerId;
  readonly hostname: string | null;
  /** Short lives in a row, this one included. */
  readonly count: number;
  readonly endedMs: number;
}

/** Somebody who waits to be let in. */
export interface HeldJoin {
  readonly event: JoinEvent;
  /** The one that it follows. */
  readonly life: ShortLife;
  readonly untilMs: number;
}

/** How long the follower of so many short lives waits, in ms. */
export function coolDownMs(shortLives: number, livenessMs: number): number {
  const beyond = shortLives - FREE_LIVES;
  return beyond <= 0 ? 0 : livenessMs * Math.min(TIMEOUTS_MAX, 2 ** (beyond - 1));
}

/** A life has ended against its will. */
export function noteDeath(state: RunState, { worker, hostname, shortLives, joinedMs }: Member): void {
  const windowMs = SHORT_LIFE_TIMEOUTS * state.config.livenessMs;
  if (state.nowMs - joinedMs >= windowMs) return;
  state.shortLives.push({ worker, hostname, count: shortLives + 1, endedMs: state.nowMs });
}

/** The short life that this join follows; null: none. */
function takeShortLife(state: RunState, { requested, hostname = null }: JoinEvent): ShortLife | null {
  const { livenessMs } = state.config;
  const isKept = ({ count, endedMs }: ShortLife): boolean =>
    state.nowMs < endedMs + SHORT_LIFE_TIMEOUTS * livenessMs + coolDownMs(count, livenessMs);
  state.shortLives = state.shortLives.filter(isKept);
  const index = state.shortLives.findIndex((life) =>
    requested === null ? hostname !== null && life.hostname === hostname : life.worker === requested,
  );
  return index < 0 ? null : (state.shortLives.splice(index, 1)[0] ?? null);
}

/** How many short lives this join follows; null: it has to wait, and is kept. */
export function shortLivesBefore(state: RunState, event: JoinEvent): number | null {
  const life = takeShortLife(state, event);
  if (life === null) return 0;
  const untilMs = life.endedMs + coolDownMs(life.count, state.config.livenessMs);
  if (untilMs <= state.nowMs) return life.count;
  state.heldJoins.push({ event, life, untilMs });
  const seconds = ((untilMs - state.nowMs) / 1000).toFixed(1);
  const who = event.requested === null ? `a worker on ${life.hostname}` : `worker ${life.worker}`;
  const message = `${who} died ${life.count} times soon after joining: it may join again in ${seconds} s`;
  state.effects.push({ type: 'log', kind: 'cool-down', worker: event.requested, message });
  return null;
}

/** Those whose time has come, or all where nobody is let in any more. */
export function takeHeld(state: RunState, isDue: (held: HeldJoin) => boolean): readonly HeldJoin[] {
  if (state.heldJoins.length === 0) return [];
  const due = state.heldJoins.filter(isDue);
  state.heldJoins = state.heldJoins.filter((held) => !due.includes(held));
  return due;
}

/** Its connection is closed: the next one from there waits instead. */
export function onJoinWithdrawn(state: RunState, ticket: number): void {
  for (const { life } of takeHeld(state, ({ event }) => event.ticket === ticket)) state.shortLives.push(life);
}

/** When somebody's cool-down ends, at the earliest; null: nobody waits. */
export function coolDownDeadlineMs({ heldJoins }: RunState): number | null {
  return heldJoins.length === 0 ? null : Math.min(...heldJoins.map(({ untilMs }) => untilMs));
}
