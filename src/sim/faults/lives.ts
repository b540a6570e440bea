/**
 * What is known of the workers' lives from events and effects alone: the books that the rules are checked by. They share nothing with the
 * controller's own members.
 */
import { type GroupId, type WorkerId, workerId } from '../../base/ids.js';
import type { StrategyName } from '../../core/config.js';
import type { Life } from '../../core/events.js';
import type { MemberFacts } from '../../core/facts.js';
import type { Group } from '../../core/group.js';
import { strategies } from '../../core/strategies/strategies.js';
import type { RunView } from '../../core/view.js';

export interface LifeRecord extends Life {
  /** It was told where to get the model, and has not answered. */
  fetching: boolean;
  /** Known from before the controller was started again, and not back yet. */
  returning: boolean;
  /** Totals of its READYs. */
  localSteps: number;
  samples: number;
  /** It holds the run's model. */
  synced: boolean;
  started: boolean;
  /** It was there at the start, or has sent a READY. */
  counted: boolean;
  asking: boolean;
  finishing: boolean;
  finished: boolean;
  suspect: boolean;
  /** Another said that it held a group up: a suspect until it reports by itself. */
  accused: boolean;
  /** The controller has been told that nothing is heard of it. */
  silent: boolean;
  leaving: boolean;
  /** Its last READY was finite. */
  finite: boolean;
  /** So is its replica: a gradient that is not leaves it as it was. */
  sound: boolean;
  /** The greatest that its replica's k was. */
  k: number;
  /** Its READY that no group has taken for good yet: its k, and its place among all. */
  ready: { readonly k: number; readonly order: number } | null;
  /** The group whose outcome it has not reported. */
  unreported: GroupId | null;
  /** It waits for that group's average to go on, and is no passive member. */
  isActiveIn: boolean;
  /** Such groups running that were given up, with nobody accused. */
  setbacks: number;
  /** Until when it is not grouped for that reason. */
  restsUntilMs: number;
}

export interface OpenRecord {
  readonly group: Group;
  readonly done: Set<WorkerId>;
  readonly reported: Set<WorkerId>;
}

export interface Books {
  readonly lives: Map<WorkerId, LifeRecord>;
  readonly open: Map<GroupId, OpenRecord>;
  readonly closed: Set<GroupId>;
  /** Of the last event. */
  nowMs: number;
}

export function createBooks(): Books {
  return { lives: new Map(), open: new Map(), closed: new Set(), nowMs: 0 };
}

export function createLifeRecord({ worker, incarnation }: Life): LifeRecord {
  return {
    worker,
    incarnation,
    fetching: false,
    returning: false,
    localSteps: 0,
    samples: 0,
    synced: false,
    started: false,
    counted: false,
    asking: false,
    finishing: false,
    finished: false,
    suspect: false,
    accused: false,
    silent: false,
    leaving: false,
    finite: true,
    sound: true,
    k: 0,
    ready: null,
    unreported: null,
    isActiveIn: false,
    setbacks: 0,
    restsUntilMs: Number.NEGATIVE_INFINITY,
  };
}

/** Of a run whose controller was started again: nothing is heard of it until it is back. */
export function restoredLife(
  { worker, incarnation, synced, counted, finite, leaving, k, localSteps, samples }: MemberFacts,
  { started, strategy }: { readonly started: boolean; readonly strategy: StrategyName },
): LifeRecord {
  return {
    ...createLifeRecord({ worker: workerId(worker), incarnation }),
    returning: true,
    suspect: true,
    silent: true,
    synced,
    counted,
    finite,
    leaving,
    k,
    localSteps,
    samples,
    started: started && synced,
    sound: finite || strategies[strategy].replica.exchanges === 'gradient',
  };
}

/** Who may come to the queue, or is in it: whom groups can wait for. Ascending. */
export function activeWorkers({ lives }: Books, view: RunView): readonly WorkerId[] {
  return view.workers
    .filter(({ worker, state }) => {
      const isWorking = state === 'computing' || state === 'queued' || state === 'grouped';
      const life = lives.get(worker);
      return isWorking && life?.counted === true && !life.leaving;
    })
    .map(({ worker }) => worker);
}

/** Of them those who do not rest: whom partial reduce waits for. */
export function expectedWorkers(books: Books, view: RunView): readonly WorkerId[] {
  const { lives, nowMs } = books;
  return activeWorkers(books, view).filter((worker) => {
    const life = lives.get(worker);
    return life?.ready === null || (life?.restsUntilMs ?? 0) <= nowMs;
  });
}

/** Those whose READY waits and may be taken, oldest first. */
export function waitingWorkers({ lives, open, nowMs }: Books): readonly LifeRecord[] {
  const grouped = new Set([...open.values()].flatMap(({ group }) => group.members.map(lifeKey)));
  return [...lives.values()]
    .filter((life) => {
      const isFree = life.unreported === null && !grouped.has(lifeKey(life));
      const isRested = life.restsUntilMs <= nowMs;
      return life.ready !== null && isFree && isRested && !life.suspect && !life.leaving;
    })
    .toSorted((a, b) => (a.ready?.order ?? 0) - (b.ready?.order ?? 0));
}

export function lifeKey({ worker, incarnation }: Life): string {
  return `${worker}/${incarnation}`;
}
