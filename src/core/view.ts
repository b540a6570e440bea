/**
 * What the controller shows of a run, to people and displays.
 */
import type { WorkerId } from '../base/ids.js';
import { iterationMedianMs, type Member, type Phase } from './member.js';
import type { Progress } from './group.js';
import type { RunState } from './run-state.js';

export interface WorkerView {
  readonly worker: WorkerId;
  readonly state: Phase | 'suspect';
  readonly k: number;
  readonly localSteps: number;
  /** Null before its first iteration. */
  readonly iterationMedianMs: number | null;
  /** Why it waits, for people; null where it does not. */
  readonly waitReason: string | null;
}

export interface RunView {
  readonly started: boolean;
  readonly finishReason: string | null;
  readonly progress: Progress;
  /** Groups formed, the final one included. */
  readonly groups: number;
  readonly queue: readonly WorkerId[];
  /** Ascending. */
  readonly workers: readonly WorkerView[];
  /** T in force. */
  readonly connectivityGroups: number;
  readonly maxGroupsToConnect: number;
  /** Time that full queues were held for connectivity, in ms. */
  readonly holdMs: number;
  readonly holdsExpired: number;
}

/** `nowMs`: the moment that is looked at; the clock of the state stands between two events. */
export function viewOf(state: RunState, nowMs: number): RunView {
  const { started, finishReason, progress, groupCount, queue, filter, holdMs, holdsExpired } = state;
  return {
    started,
    finishReason,
    progress,
    groups: groupCount,
    queue: queue.signals.map((signal) => signal.worker),
    workers: [...state.members.values()].map((member) => ({
      worker: member.worker,
      state: member.suspectSinceMs === null ? member.phase : 'suspect',
      k: member.k,
      localSteps: member.localSteps,
      iterationMedianMs: iterationMedianMs(member),
      waitReason: waitReasonOf(state, member, nowMs),
    })),
    connectivityGroups: filter.connectivityGroups,
    maxGroupsToConnect: filter.maxGroupsToConnect,
    holdMs: holdMs + (state.hold === null ? 0 : nowMs - state.hold.sinceMs),
    holdsExpired,
  };
}

function waitReasonOf(state: RunState, member: Member, nowMs: number): string | null {
  switch (member.phase) {
    case 'queued':
      if (member.restsUntilMs !== null) return `resting, as its last ${member.setbacks} groups failed`;
      return member.openGroup === null ? describeWait(state, nowMs) : 'waiting for its last group to end';
    case 'waiting':
      return `waiting for ${whomToStart(state)}`;
    case 'joining':
      return 'waiting for a donor of the model';
    case 'idle':
      return 'waiting for work';
    case 'finished':
      return 'waiting for the final average';
    default:
      return null;
  }
}

function whomToStart({ config, strategy, serversReady, members }: RunState): string {
  const present = [...members.values()].filter(({ phase }) => phase === 'waiting').length;
  if (present < config.minWorkers || strategy.usesServers !== true || serversReady)
    return `${config.minWorkers} workers`;
  return `${config.servers} parameter servers`;
}

/** The strategy's reason, and who has kept the others longest. */
function describeWait(state: RunState, nowMs: number): string | null {
  if (state.waitReason === null) return null;
  const computing = [...state.members.values()].filter(
    (member) => member.phase === 'computing' && member.suspectSinceMs === null,
  );
  const [slowest] = computing.toSorted((a, b) => a.phaseSinceMs - b.phaseSinceMs);
  if (slowest === undefined) return state.waitReason;
  const seconds = ((nowMs - slowest.phaseSinceMs) / 1000).toFixed(1);
  return `${state.waitReason}: worker ${slowest.worker} computing for ${seconds} s`;
}
