/**
 * The rules that every step of the controller must keep, checked by events and effects alone: who may be told what and when, that
 * groups close once, that leases end once, that no k falls, that the end is the end. Rules of groups: group-rules.ts.
 */
import { assert, assertPresent } from '../../base/assert.js';
import { type WorkerId, workerId } from '../../base/ids.js';
import type { RestoredRun } from '../../core/config.js';
import type { Effect } from '../../core/effects.js';
import type { ControllerEvent, Life, WorkerEvent } from '../../core/events.js';
import type { RunFacts } from '../../core/facts.js';
import type { Group } from '../../core/group.js';
import { strategies } from '../../core/strategies/strategies.js';
import type { RunView } from '../../core/view.js';
import { createCheckpointBook } from './checkpoint-book.js';
import { checkGroup } from './group-rules.js';
import { createLeaseBook } from './lease-book.js';
import { type Books, createBooks, createLifeRecord, type LifeRecord, restoredLife } from './lives.js';
import type { Scenario } from './scenario.js';
import type { Tally } from './tally.js';
import { checkWaiting, isPaused } from './waiting-rules.js';

export interface Accounting {
  before(event: ControllerEvent): void;
  after(event: ControllerEvent, effects: readonly Effect[], view: RunView, nextDeadlineMs: number | null): void;
  readonly books: Books;
  readonly ended: boolean;
}

/** What may follow where nothing else may: the first event after a restart, whatever it is, has all of it written down, and looked at. */
const IDLE_EFFECTS: readonly Effect['type'][] = ['refuse', 'returnRefused', 'persist', 'log'];

export interface AccountingOptions {
  readonly scenario: Scenario;
  /** What happens is added to it. */
  readonly tally: Tally;
  /** Null: a run from the beginning, or one that goes on from facts. */
  readonly restored: RestoredRun | null;
  /** What the controller goes on from after a restart; null: it was never another one. */
  readonly facts: RunFacts | null;
  /** Samples of its lease that a worker had used which says that it is back. */
  usedBy(life: Life): number;
}

export function createAccounting({ scenario, tally, restored, facts, usedBy }: AccountingOptions): Accounting {
  const books = createBooks();
  const { lives, open, closed } = books;
  const incarnations = new Map(facts?.incarnations.map(([worker, last]) => [workerId(worker), last]));
  const leases = createLeaseBook(scenario.ledger, (facts ?? restored)?.ledger ?? null);
  const lastCheckpoint = facts?.checkpointCount ?? restored?.checkpoint ?? 0;
  const checkpoints = createCheckpointBook(scenario.ledger, leases, lastCheckpoint);
  const { replica, passive } = strategies[scenario.strategy];
  for (const member of facts?.members ?? []) {
    const life = restoredLife(member, { started: facts?.started === true, strategy: scenario.strategy });
    lives.set(life.worker, life);
  }
  let readies = 0;
  let ended = false;
  let mark = 0;
  let { localSteps, samples } = (facts ?? restored)?.progress ?? { localSteps: 0, samples: 0 };
  let startedMs: number | null = facts?.started === true ? 0 : null;
  /** The event is of a life that is over, or comes after the end: nothing but a refusal may follow. */
  let isIdle = false;
  let lostServer = false;

  function before(event: ControllerEvent): void {
    books.nowMs = event.nowMs;
    isIdle = ended;
    if (event.type === 'serverLost' && !ended) {
      lostServer = true;
      tally.serversLost += 1;
    }
    if (!('worker' in event)) return;
    const life = lives.get(event.worker);
    if (life?.incarnation !== event.incarnation) {
      isIdle = true;
      tally.fenced += 1;
    }
    if (isIdle || life === undefined) return;
    if (event.type === 'returned') leaveBehind(life);
    else follow(life, event);
  }

  /** What an event means for the books. */
  function follow(life: LifeRecord, event: WorkerEvent): void {
    switch (event.type) {
      case 'ready':
        return followReady(life, event);
      case 'synced':
        life.fetching = false;
        life.synced = true;
        life.k = event.k;
        return;
      case 'transferFailed':
        life.fetching = false;
        return;
      case 'leaving':
        life.leaving = true;
        return;
      case 'suspected':
        life.suspect = true;
        life.silent = true;
        return;
      case 'resumed':
        tally.resumes += 1;
        life.silent = false;
        // Heartbeats are no answer.
        if (!life.accused) life.suspect = false;
        return;
      case 'leaseRequested':
        life.asking = true;
        if (event.finished !== null) {
          checkpoints.leaseFinished(life.worker, leases.finish(life.worker, event.finished));
        }
        return;
      case 'finished':
        life.asking = false;
        life.finished = true;
        return leases.giveBack(life.worker);
      case 'done':
      case 'aborted':
        return followReport(life, event);
      case 'checkpointed': {
        const { processed } = event.part;
        const used = leases.usedBy(life.worker);
        assert(processed === used, `worker ${life.worker} keeps ${processed} samples of its lease, but used ${used}`);
        return checkpoints.answered(event);
      }
      case 'checkpointFailed':
        return checkpoints.failed(event.checkpoint);
      case 'lost':
        return;
      default:
        event satisfies never;
    }
  }

  /** Its former connection is gone, and whatever it was in. */
  function leaveBehind(life: LifeRecord): void {
    life.suspect = true;
    if (life.unreported !== null) open.get(life.unreported)?.reported.add(life.worker);
    life.unreported = null;
    life.ready = null;
  }

  function isBack(life: LifeRecord, { standing }: Extract<ControllerEvent, { type: 'returned' }>): void {
    const { doing, k, ready, finite, finished } = standing;
    const { worker } = life;
    tally.returns += 1;
    const formerK = life.k;
    const more = { steps: standing.localSteps - life.localSteps, samples: standing.samples - life.samples };
    assert(more.steps >= 0 && more.samples >= 0, `worker ${worker} is back with less than it had done`);
    localSteps += more.steps;
    samples += more.samples;
    checkpoints.ready(worker, more.samples, more.steps);
    const isRunning = doing !== 'joining' && doing !== 'waiting';
    Object.assign(life, {
      suspect: false,
      accused: false,
      silent: false,
      returning: false,
      fetching: false,
      finishing: false,
      localSteps: standing.localSteps,
      samples: standing.samples,
      synced: doing !== 'joining',
      started: isRunning,
      counted: life.counted || (isRunning && standing.localSteps > 0),
      asking: doing === 'idle',
      finished: doing === 'finished',
      finite: ready?.finite ?? finite,
      sound: finite || replica.exchanges === 'gradient',
      k: Math.max(formerK, k ?? 0),
    } satisfies Partial<LifeRecord>);
    if (finished !== null && leases.heldBy(worker)?.id === finished) {
      leases.takeUp(worker, finished, leases.heldBy(worker)?.count ?? 0);
      checkpoints.leaseFinished(worker, leases.finish(worker, finished));
    }
    leases.takeUp(worker, standing.lease, usedBy(life));
    const isAnswered = ready === null || (passive === 'everybody' && ready.k <= life.k);
    if (isAnswered || !isRunning) return;
    life.ready = { k: Math.max(ready.k, formerK), order: readies };
    readies += 1;
  }

  function followReady(life: LifeRecord, event: Extract<WorkerEvent, { type: 'ready' }>): void {
    const { worker } = life;
    const { k, steps = 1, finite } = event;
    life.ready = { k, order: readies };
    readies += 1;
    life.counted = true;
    life.finite = finite;
    if (replica.exchanges === 'replica') life.sound = finite;
    life.localSteps += steps;
    life.samples += event.samples;
    localSteps += steps;
    samples += event.samples;
    leases.use(worker, event.samples);
    checkpoints.ready(worker, event.samples, steps);
  }

  function followReport(life: LifeRecord, event: Extract<WorkerEvent, { type: 'done' | 'aborted' }>): void {
    life.unreported = null;
    const record = open.get(event.group);
    record?.reported.add(event.worker);
    // What was under way when its connection closed is no sign of life.
    if (life.accused && !life.silent) life.suspect = false;
    life.accused = false;
    if (event.type === 'aborted') return setBack(life, event.stalled !== undefined);
    if (life.isActiveIn) life.setbacks = 0;
    record?.done.add(event.worker);
    const kMax = record?.group.kMax ?? Number.POSITIVE_INFINITY;
    if (passive === undefined || (life.ready !== null && life.ready.k <= kMax)) life.ready = null;
    // Its group is open, or was closed without it: every group of replicas has a sound member.
    life.sound = true;
  }

  /** From the third one on it rests, twice as long each time. */
  function setBack(life: LifeRecord, hasAccused: boolean): void {
    if (!life.isActiveIn || hasAccused) return;
    life.setbacks += 1;
    if (life.setbacks < 3) return;
    life.restsUntilMs = books.nowMs + Math.min(1, 2 ** (life.setbacks - 3) / 64) * scenario.livenessMs;
  }

  function formed(group: Group, view: RunView): void {
    checkGroup(scenario, books, group, view);
    for (const { worker, passive: isPassive = false } of group.members) {
      const life = lifeAt(worker);
      life.unreported = group.id;
      life.isActiveIn = group.kind === 'step' && !isPassive;
    }
    open.set(group.id, { group, done: new Set(), reported: new Set() });
    tally.groups += 1;
    if (group.kind === 'final') tally.finalGroups += 1;
  }

  function groupClosed({ group, committed, aborted }: Extract<Effect, { type: 'groupClosed' }>): void {
    const record = open.get(group.id);
    assert(record !== undefined, `group ${group.id} is closed, but is not open`);
    open.delete(group.id);
    closed.add(group.id);
    const expected = group.members.map(({ worker }) => worker).filter((worker) => record.done.has(worker));
    assert(
      expected.join() === committed.join(),
      `group ${group.id}: ${committed.join()} committed, done ${expected.join()}`,
    );
    if (!aborted)
      assert(committed.length === group.members.length, `group ${group.id} is closed as a whole, but is not`);
    for (const { worker, incarnation } of group.members) {
      const life = lives.get(worker);
      const isAwaited = life?.incarnation === incarnation && !life.suspect && !record.reported.has(worker);
      assert(!isAwaited, `group ${group.id} is closed before worker ${worker} has reported`);
    }
  }

  function groupAborted(effect: Extract<Effect, { type: 'abortGroup' }>, event: ControllerEvent): void {
    const record = assertPresent(open.get(effect.group), `open group ${effect.group}`);
    for (const life of effect.members) {
      lifeOf(life);
      // To who is back at this moment it goes on its former connection, which is gone.
      if (event.type === 'returned' && event.worker === life.worker) continue;
      assert(!record.reported.has(life.worker), `worker ${life.worker} is told of an abort that it knows of`);
    }
    tally.aborts += 1;
  }

  function lifeOver({ worker, incarnation }: Life): void {
    assert(lives.get(worker)?.incarnation === incarnation, `worker ${worker} ends twice`);
    lives.delete(worker);
    leases.giveBack(worker);
    checkpoints.lifeOver(worker);
  }

  function lifeAt(worker: WorkerId): LifeRecord {
    return assertPresent(lives.get(worker), `worker ${worker}`);
  }

  function lifeOf({ worker, incarnation }: Life): LifeRecord {
    const life = lives.get(worker);
    assert(life?.incarnation === incarnation, `an effect for worker ${worker}, whose life is over`);
    return life;
  }

  function admitted(effect: Extract<Effect, { type: 'admit' }>): void {
    const { worker } = effect;
    assert(!lives.has(worker), `worker ${worker} is admitted twice`);
    const incarnation = (incarnations.get(worker) ?? 0) + 1;
    assert(effect.incarnation === incarnation, `worker ${worker}: incarnation ${effect.incarnation}`);
    incarnations.set(worker, incarnation);
    lives.set(worker, createLifeRecord(effect));
  }

  function toldToFetch(joiner: LifeRecord, donor: LifeRecord | null): void {
    assert(!joiner.synced && !joiner.fetching, `worker ${joiner.worker} is told to fetch the model again`);
    joiner.fetching = true;
    const holder = [...lives.values()].find(({ synced }) => synced);
    if (donor === null) {
      const isFirst = holder === undefined || (restored !== null && startedMs === null);
      assert(isFirst, `worker ${joiner.worker} begins with its own model, but worker ${holder?.worker} has one`);
      return;
    }
    assert(donor.synced && !donor.suspect && !donor.leaving, `worker ${donor.worker} cannot hand over the model`);
    assert(donor.sound, `worker ${donor.worker} hands over what is not finite`);
  }

  function started(effect: Extract<Effect, { type: 'start' }>, nowMs: number): void {
    const life = lifeOf(effect);
    assert(life.synced && !life.started, `worker ${effect.worker} is started twice, or without the model`);
    life.started = true;
    startedMs ??= nowMs;
    if (startedMs === nowMs) life.counted = true;
    else tally.joinersStarted += 1;
  }

  function released(effect: Extract<Effect, { type: 'release' }>, view: RunView): void {
    const life = lifeOf(effect);
    assert(life.ready?.k === effect.k, `worker ${effect.worker} is released with k ${effect.k}, not ${life.ready?.k}`);
    assert(life.unreported === null, `worker ${effect.worker} is released from group ${life.unreported}`);
    assert(life.sound || life.finishing, `worker ${effect.worker} is released, but not finite`);
    life.ready = null;
    assert(!isPaused(scenario, books, view), `worker ${effect.worker} is released while the run is paused`);
    tally.releases += 1;
  }

  /** It goes to the end of the queue, and counts for nothing until it reports. */
  function accused(life: LifeRecord): void {
    tally.accusations += 1;
    life.suspect = true;
    life.accused = true;
    if (life.ready === null) return;
    life.ready = { ...life.ready, order: readies };
    readies += 1;
  }

  function checkEvaluated(workers: readonly WorkerId[]): void {
    const unsound = workers.filter((worker) => lives.get(worker)?.sound === false);
    assert(unsound.length === 0 || unsound.length === workers.length, `an evaluation of worker ${unsound.join()}`);
  }

  function runEnded(effect: Extract<Effect, { type: 'runEnded' }>): void {
    ended = true;
    const synced = [...lives.entries()].filter(([, life]) => life.synced);
    const isSound = lostServer || synced.length === 0 || synced.some(([, { sound }]) => sound);
    const saysSo = effect.reason.includes('no live replica is finite');
    assert(isSound || saysSo, `no model, but the reason is ${effect.reason}`);
    if (!isSound) tally.endsNotFinite += 1;
    const living = isSound && !lostServer ? synced.map(([worker]) => worker) : [];
    const same = living.length === effect.holders.length && living.every((worker) => effect.holders.includes(worker));
    assert(same, `the run ends with holders ${effect.holders.join()}, but ${living.join()} are alive`);
    assert(effect.progress.samples === samples && effect.progress.localSteps === localSteps, 'progress is lost');
    leases.checkEnd(effect.reason);
  }

  function take(effect: Effect, event: ControllerEvent, view: RunView): void {
    assert(!ended, `"${effect.type}" after the end of the run`);
    switch (effect.type) {
      case 'admit':
        return admitted(effect);
      case 'seed':
        return toldToFetch(lifeOf(effect), null);
      case 'transfer':
        return toldToFetch(lifeOf(effect.joiner), lifeOf(effect.donor));
      case 'start':
        return started(effect, event.nowMs);
      case 'formGroup':
        return formed(effect.group, view);
      case 'abortGroup':
        return groupAborted(effect, event);
      case 'groupClosed':
        return groupClosed(effect);
      case 'release':
        return released(effect, view);
      case 'wentOn':
        lifeOf(effect).ready = null;
        return;
      case 'lease': {
        const life = lifeOf(effect);
        assert(life.asking, `worker ${effect.worker} gets a lease that it did not ask for`);
        life.asking = false;
        if (leases.give(effect.worker, effect.lease)) tally.leasesGivenAgain += 1;
        return;
      }
      case 'finish': {
        const life = lifeOf(effect);
        assert(!life.finishing, `worker ${effect.worker} is told to finish twice`);
        life.finishing = true;
        return;
      }
      case 'dead':
        tally.deaths += 1;
        return lifeOver(effect);
      case 'left': {
        const { worker, leaving, unreported, synced } = lifeOf(effect);
        assert(leaving || !synced || startedMs === null, `worker ${worker} has left, but did not want to`);
        assert(unreported === null, `worker ${worker} leaves group ${unreported}`);
        tally.left += 1;
        return lifeOver(effect);
      }
      case 'violation':
        assert(false, `worker ${effect.worker} is honest, but was expelled: ${effect.message}`);
        return;
      case 'evaluate':
        assert(effect.mark > mark, `evaluation mark ${effect.mark} after ${mark}`);
        ({ mark } = effect);
        return checkEvaluated(effect.workers);
      case 'askCheckpoint':
        for (const life of effect.workers) lifeOf(life);
        return checkpoints.asked(effect);
      case 'checkpointFailed':
        return checkpoints.failed(effect.checkpoint);
      case 'welcomeBack':
        return isBack(lifeOf(effect), event as Extract<ControllerEvent, { type: 'returned' }>);
      case 'returnRefused':
        // Only rounds that went by make an honest worker's return too late.
        assert(replica.exchanges === 'gradient', `a return is refused: ${effect.reason}`);
        return;
      case 'checkpoint':
        tally.checkpoints += 1;
        return checkpoints.check(effect, { samples, localSteps });
      case 'runEnded':
        return runEnded(effect);
      case 'log':
        if (effect.kind === 'stalled') accused(lifeAt(assertPresent(effect.worker, 'who held a group up')));
        return;
      default:
    }
  }

  /** No replica goes back. */
  function followViews(view: RunView): void {
    for (const { worker, k } of view.workers) {
      const life = lifeAt(worker);
      assert(k >= life.k, `k of worker ${worker} falls from ${life.k} to ${k}`);
      life.k = k;
    }
  }

  return {
    books,
    before,
    after(event, effects, view, nextDeadlineMs) {
      if (isIdle) {
        const answered = effects.filter(({ type }) => !IDLE_EFFECTS.includes(type));
        assert(answered.length === 0, `"${event.type}" of a life that is over, or after the end, has effects`);
      } else for (const effect of effects) take(effect, event, view);
      if (!ended) {
        followViews(view);
        checkWaiting(scenario, books, view);
      }
      assert(nextDeadlineMs === null || nextDeadlineMs > event.nowMs, `deadline ${nextDeadlineMs} at ${event.nowMs}`);
    },
    get ended() {
      return ended;
    },
  };
}
