/**
 * The run's last groups, for rho as it is reported live (algorithms.md 5). Starts anew when the number of workers changes:
 * mixing matrices of different sizes have no common mean.
 */
import type { GroupId, WorkerId } from '../base/ids.js';
import type { Group } from './group.js';
import { mixingRho } from './mixing.js';

export interface MixingHistory {
  formed(group: Group): void;
  /** It mixed nothing. */
  aborted(group: GroupId): void;
  /** The run's workers are these from now on; ascending. */
  workersChanged(workers: readonly WorkerId[]): void;
  /** rho of the groups kept; null without any. Costs some hundred passes over them. */
  rho(): number | null;
}

const GROUPS_KEPT = 1000;

export function createMixingHistory(): MixingHistory {
  let workers: readonly WorkerId[] = [];
  let groups: Group[] = [];
  return {
    formed(group) {
      groups.push(group);
      if (groups.length > GROUPS_KEPT) groups.shift();
    },
    aborted(id) {
      groups = groups.filter((group) => group.id !== id);
    },
    workersChanged(now) {
      if (now.length === workers.length && now.every((worker, i) => worker === workers[i])) return;
      workers = now;
      groups = [];
    },
    rho() {
      const positions = new Map(workers.map((worker, position) => [worker, position]));
      const mixing = groups.map(({ members }) => ({
        members: members.map((member) => positions.get(member.worker) ?? -1),
        weights: members.map((member) => member.weight),
      }));
      return mixingRho(mixing, workers.length);
    },
  };
}
