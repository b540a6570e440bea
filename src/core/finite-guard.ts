/**
 * The NaN guard (algorithms.md 8): a worker whose replica is not finite takes the average of a group with a finite member, which is
 * as good as fetching the model anew. Here is what happens where no such group can come about.
 */
import { beginFinish } from './ending.js';
import type { Member } from './member.js';
import { removeDead } from './membership.js';
import { NOTHING_FINITE, type RunState } from './run-state.js';

/** Rounds of gradients in a row of which none was finite: they leave the replicas as they are, and will not end by themselves. */
const ROUNDS_NOT_FINITE_MAX = 10;

/** Gives whether somebody was taken out, whose lease is free now. */
export function guardFinite(state: RunState): boolean {
  if (state.finishReason !== null) return false;
  if (state.roundsNotFinite >= ROUNDS_NOT_FINITE_MAX) {
    beginFinish(state, `no gradient was finite in ${state.roundsNotFinite} rounds running: ${ADVICE}`);
    return false;
  }
  if (state.roster.count('notFinite') === 0) return false;
  const members = [...state.members.values()];
  const lost = members.filter(
    ({ phase, finite, suspectSinceMs }) => phase === 'queued' && !finite && suspectSinceMs === null,
  );
  if (lost.length === 0 || members.some(mayBringFinite)) return false;
  if (!members.some(({ phase, finite }) => finite && (phase === 'idle' || phase === 'finished'))) {
    beginFinish(state, `${NOTHING_FINITE}: ${ADVICE}`);
    return false;
  }
  // Those who rest hand the model to joiners only: a new life of this worker is one.
  for (const member of lost) {
    removeDead(state, member, 'its values are not finite, and no worker that trains has any that are; start it anew');
  }
  return true;
}

const ADVICE = 'the training has diverged; a lower learning rate may help';

/** May come to the queue with a finite replica: every group has a finite member, and who joins has a finite donor. */
function mayBringFinite({ phase, finite }: Member): boolean {
  switch (phase) {
    case 'computing':
    case 'queued':
      return finite;
    case 'grouped':
    case 'syncing':
    case 'waiting':
      return true;
    case 'joining':
    case 'idle':
    case 'finished':
      return false;
    default:
      return phase satisfies never;
  }
}
