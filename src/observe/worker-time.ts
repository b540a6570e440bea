/**
 * Where each worker's time went in all: its activities, added up. The parts add up to the whole.
 */
import type { WorkerId } from '../base/ids.js';
import { type Activity, createActivities } from './activities.js';
import type { RunEvent } from './run-events.js';

/** One worker's time in a run, in ms. */
export interface WorkerTime {
  readonly worker: WorkerId;
  readonly steps: number;
  readonly samples: number;
  readonly computeMs: number;
  /** READY to GROUP, and at the end from its last step to the final average. */
  readonly waitMs: number;
  readonly reduceMs: number;
}

interface Account {
  readonly worker: WorkerId;
  steps: number;
  samples: number;
  computeMs: number;
  waitMs: number;
  reduceMs: number;
}

export interface WorkerTimes {
  add(event: RunEvent): void;
  /** By worker number; workers that never took a part are left out. */
  result(): readonly WorkerTime[];
}

const PARTS = { compute: 'computeMs', wait: 'waitMs', reduce: 'reduceMs' } as const satisfies Record<Activity, string>;

/** Creates the accounts; feed it a run's events in order. */
export function createWorkerTimes(): WorkerTimes {
  const accounts = new Map<WorkerId, Account>();
  const activities = createActivities(({ worker, activity, startMs, endMs }) => {
    accountOf(worker)[PARTS[activity]] += endMs - startMs;
  });

  function accountOf(worker: WorkerId): Account {
    let account = accounts.get(worker);
    if (account === undefined) {
      account = { worker, steps: 0, samples: 0, computeMs: 0, waitMs: 0, reduceMs: 0 };
      accounts.set(worker, account);
    }
    return account;
  }

  return {
    add(event) {
      activities.add(event);
      if (event.type !== 'ready') return;
      const account = accountOf(event.worker);
      account.steps += event.steps ?? 1;
      account.samples += event.samples;
    },
    result: () =>
      [...accounts.values()]
        .filter((account) => account.computeMs + account.waitMs + account.reduceMs > 0)
        .sort((a, b) => a.worker - b.worker)
        .map((account) => ({ ...account })),
  };
}
