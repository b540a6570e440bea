/**
 * The rules that every step of the controller must keep, checked by events and effects alone: who may be in a group, what the
 * weights are, that groups close once, that leases end once, that the end is the end.
 */
import { assert, assertPresent } from '../../src/base/assert.js';
import type { GroupId, WorkerId } from '../../src/base/ids.js';
import type { Effect } from '../../src/core/effects.js';
import type { ControllerEvent, Life } from '../../src/core/events.js';
import type { Group } from '../../src/core/group.js';
import { strategies } from '../../src/core/strategies/strategies.js';
import type { RunView } from '../../src/core/view.js';
import { createLeaseBook } from './lease-book.js';
import type { Scenario } from './scenario.js';

/** How often what a scenario is about has happened: a property that never meets it proves nothing. */
export interface Tally {
  groups: number;
  aborts: number;
  deaths: number;
  left: number;
  resumes: number;
  releases: number;
  holdsExpired: number;
  leasesGivenAgain: number;
  finalGroups: number;
  fenced: number;
  joinersStarted: number;
  windows: number;
  /** Runs that ended because no replica was finite. */
  endsNotFinite: number;
}

export interface Accounting {
  before(event: ControllerEvent): void;
  after(event: ControllerEvent, effects: readonly Effect[], view: RunView, nextDeadlineMs: number | null): void;
  readonly ended: boolean;
  readonly tally: Tally;
}

interface LifeRecord {
  readonly incarnation: number;
  started: boolean;
  /** It holds the run's model. */
  synced: boolean;
  finishing: boolean;
  suspect: boolean;
  /** Its last READY was finite. */
  finite: boolean;
  /** So is its replica: a gradient that is not leaves it as it was. */
  sound: boolean;
  leaving: boolean;
  /** Its READY that no group has taken for good yet: its k, and its place among all. */
  ready: { readonly k: number; readonly order: number } | null;
  /** The group whose outcome it has not reported. */
  unreported: GroupId | null;
}

interface OpenRecord {
  readonly group: Group;
  readonly done: Set<WorkerId>;
  readonly reported: Set<WorkerId>;
}

export function createAccounting(scenario: Scenario): Accounting {
  const lives = new Map<WorkerId, LifeRecord>();
  const incarnations = new Map<WorkerId, number>();
  const open = new Map<GroupId, OpenRecord>();
  const closed = new Set<GroupId>();
  const leases = createLeaseBook(scenario);
  const tally: Tally = {
    groups: 0,
    aborts: 0,
    deaths: 0,
    left: 0,
    resumes: 0,
    releases: 0,
    holdsExpired: 0,
    leasesGivenAgain: 0,
    finalGroups: 0,
    fenced: 0,
    joinersStarted: 0,
    windows: 0,
    endsNotFinite: 0,
  };
  const usesServers = strategies[scenario.strategy].usesServers === true;
  const hasPassive = strategies[scenario.strategy].passive !== undefined;
  const averagesReplicas = scenario.strategy === 'partial-reduce';
  let readies = 0;
  let ended = false;
  let mark = 0;
  let localSteps = 0;
  let samples = 0;
  let startedMs: number | null = null;
  /** The event is of a life that is over, or comes after the end: nothing but a refusal may follow. */
  let isIdle = false;

  function before(event: ControllerEvent): void {
    isIdle = ended;
    if (!('worker' in event)) return;
    const life = lives.get(event.worker);
    if (life?.incarnation !== event.incarnation) {
      isIdle = true;
      tally.fenced += 1;
    }
    if (isIdle || life === undefined) return;
    if (event.type === 'ready') {
      life.ready = { k: event.k, order: readies };
      readies += 1;
      life.finite = event.finite;
      if (averagesReplicas) life.sound = event.finite;
      localSteps += 1;
      samples += event.samples;
    }
    if (event.type === 'synced') life.synced = true;
    if (event.type === 'leaving') life.leaving = true;
    if (event.type === 'suspected') life.suspect = true;
    if (event.type === 'resumed') {
      life.suspect = false;
      tally.resumes += 1;
    }
    if (event.type === 'leaseRequested' && event.finished !== null) leases.finish(event.worker, event.finished);
    if (event.type === 'finished') leases.giveBack(event.worker);
    if (event.type === 'done' || event.type === 'aborted') {
      life.unreported = null;
      const record = open.get(event.group);
      record?.reported.add(event.worker);
      if (event.type === 'aborted') return;
      record?.done.add(event.worker);
      const kMax = record?.group.kMax ?? Number.POSITIVE_INFINITY;
      if (!hasPassive || (life.ready !== null && life.ready.k <= kMax)) life.ready = null;
      // Its group is open, or was closed without it: every group of replicas has a sound member.
      life.sound = true;
    }
  }

  /** Those whose READY waits and may be taken, oldest first. */
  function waiting(): readonly WorkerId[] {
    const grouped = new Set([...open.values()].flatMap(({ group }) => group.members.map(lifeKey)));
    return [...lives]
      .filter(([worker, life]) => {
        const isFree = life.unreported === null && !grouped.has(lifeKey({ worker, ...life }));
        return life.ready !== null && isFree && !life.suspect && !life.leaving;
      })
      .toSorted(([, a], [, b]) => (a.ready?.order ?? 0) - (b.ready?.order ?? 0))
      .map(([worker]) => worker);
  }

  /** Whoever waits is told what for, and somebody may bring it. */
  function checkPassiveWaiting(view: RunView, count: number): void {
    const moves = view.workers.some(({ state }) => state === 'computing' || state === 'joining' || state === 'syncing');
    const owed = [...lives.values()].some(({ unreported }) => unreported !== null);
    assert(count === 0 || moves || owed || open.size > 0, `${count} workers wait, and nobody moves`);
  }

  /** Nobody is passed over for ever, and nobody waits without a reason. */
  function checkWaiting(view: RunView): void {
    const count = waiting().length;
    if (usesServers) {
      // Only rounds and a bound on staleness make anybody wait.
      assert(
        count === 0 || (scenario.strategy !== 'ps-asp' && scenario.strategy !== 'ps-hete'),
        `${count} workers wait`,
      );
      return;
    }
    if (hasPassive) return checkPassiveWaiting(view, count);
    if (scenario.strategy === 'all-reduce' || count < scenario.groupSize) return;
    if (waiting().every((worker) => lives.get(worker)?.sound === false)) {
      const mayCome = [...lives.values()].some(({ sound, synced, unreported }) => {
        return sound || unreported !== null || !synced;
      });
      assert(mayCome && view.finishReason === null, `${count} workers wait for a finite one, and none can come`);
      return;
    }
    const isHeld = scenario.filter !== 'none' && view.finishReason === null;
    const reasons = view.workers.map(({ waitReason }) => waitReason ?? '');
    assert(isHeld && reasons.some((reason) => reason.startsWith('held')), `${count} workers are ready, and wait`);
  }

  function formed(group: Group): void {
    assert(!open.has(group.id) && !closed.has(group.id), `group ${group.id} is formed twice`);
    const { members, kind } = group;
    assert(
      new Set(members.map(({ worker }) => worker)).size === members.length,
      `a worker is in group ${group.id} twice`,
    );
    if (kind === 'step' && usesServers) {
      assert(group.collective === 'server', `group ${group.id} does not go to the servers`);
    } else if (kind === 'step') {
      assert(
        members.length >= 2 || scenario.strategy === 'eager-reduce',
        `group ${group.id} has ${members.length} members`,
      );
      const isSmall =
        members.length <= scenario.groupSize ||
        scenario.strategy === 'all-reduce' ||
        scenario.strategy === 'eager-reduce';
      const [oldest] = waiting();
      const isOldest =
        hasPassive || members[0]?.worker === oldest || (oldest !== undefined && lives.get(oldest)?.sound === false);
      assert(isOldest, `group ${group.id} passes over worker ${oldest}, who waits longest`);
      const isSound = members.some(({ worker }) => lives.get(worker)?.sound);
      assert(isSound, `group ${group.id} has no finite member`);
      assert(isSmall, `group ${group.id} has ${members.length} members, more than P`);
    } else {
      assert(open.size === 0, `the final group is formed while ${open.size} groups are open`);
      const holders = [...lives.values()].filter(({ synced }) => synced);
      assert(holders.length === members.length, `the final group has ${members.length} of ${holders.length} replicas`);
      tally.finalGroups += 1;
    }
    if (kind === 'step' && hasPassive) checkPassive(group);
    for (const { worker, incarnation, k, passive = false } of members) {
      const life = lives.get(worker);
      assert(life?.incarnation === incarnation, `group ${group.id} has worker ${worker}, whose life is over`);
      assert(!life.suspect, `group ${group.id} has worker ${worker}, a suspect`);
      assert(life.unreported === null, `worker ${worker} is in group ${life.unreported} and in group ${group.id}`);
      for (const other of open.values()) {
        const isIn = other.group.members.some(
          (member) => member.worker === worker && member.incarnation === incarnation,
        );
        assert(!isIn, `worker ${worker} is in the open groups ${other.group.id} and ${group.id}`);
      }
      if (kind === 'step' && !passive)
        assert(life.ready?.k === k, `group ${group.id} takes k ${k} of worker ${worker}, not ${life.ready?.k}`);
      life.unreported = group.id;
    }
    if (kind === 'step' && usesServers) checkShares(group);
    else if (hasPassive) assert(Math.abs(members.reduce((sum, { weight }) => sum + weight, 0) - 1) <= 1e-12, 'weights');
    else checkWeights(group);
    if (kind === 'step') checkRound(group);
    assert(group.kMax === Math.max(...members.map(({ k }) => k)), `group ${group.id}: kMax ${group.kMax}`);
    open.set(group.id, { group, done: new Set(), reported: new Set() });
    tally.groups += 1;
  }

  /** Odd workers are passive, one in each group; a round has everybody who holds the model. */
  function checkPassive({ id, members }: Group): void {
    if (scenario.strategy === 'ad-psgd') {
      const parities = members.map(({ worker, passive = false }) => `${worker % 2}${passive ? ' passive' : ''}`);
      assert(parities.join() === '0,1 passive', `group ${id} has members ${parities.join()}`);
      return;
    }
    const holders = [...lives].filter(([, { started, suspect, leaving }]) => started && !suspect && !leaving);
    const missing = holders.filter(([worker]) => !members.some((member) => member.worker === worker));
    assert(missing.length === 0, `round ${id} is without worker ${missing.map(([worker]) => worker).join()}`);
  }

  /** Synchronous replicas are the same as long as no fault cuts a round in two. */
  function checkRound({ id, members }: Group): void {
    const { strategy, ledger, deaths, stalls, giveUpRate } = scenario;
    const isCut = deaths > 0 || stalls > 0 || giveUpRate > 0;
    // Where leases come back at the end of the data, who waited idle for one is behind.
    if (strategy !== 'all-reduce' || isCut || ledger !== null) return;
    const rounds = new Set(members.map(({ k }) => k));
    assert(rounds.size === 1, `group ${id} has members of the rounds ${[...rounds].join()}`);
  }

  /** Shares of gradients: 0 where they are not finite, or late; at most the whole of one gradient together. */
  function checkShares({ id, members }: Group): void {
    for (const { worker, weight } of members) {
      assert(
        weight >= 0 && (weight === 0 || lives.get(worker)?.finite === true),
        `group ${id}: weight ${weight} of ${worker}`,
      );
    }
    const sum = members.reduce((total, { weight }) => total + weight, 0);
    assert(sum <= 1 + 1e-12, `group ${id}: weights sum to ${sum}`);
    if (members.length > 1) assert(sum === 0 || Math.abs(sum - 1) <= 1e-12, `group ${id}: weights sum to ${sum}`);
  }

  function checkWeights({ id, members, kind, finite: isFinite }: Group): void {
    const sum = members.reduce((total, { weight }) => total + weight, 0);
    assert(Math.abs(sum - 1) <= 1e-12, `group ${id}: weights sum to ${sum}`);
    const finite = members.filter(({ worker }) => {
      const life = lives.get(worker);
      return kind === 'step' ? life?.finite === true : life?.sound === true;
    });
    assert(isFinite === finite.length > 0, `group ${id} is said to be ${isFinite ? '' : 'not '}finite`);
    for (const { worker, weight } of members) {
      assert(weight >= 0, `group ${id}: weight ${weight}`);
      const counts = finite.length === 0 || finite.some((member) => member.worker === worker);
      assert(counts ? weight > 0 : weight === 0, `group ${id}: weight ${weight} of worker ${worker}`);
    }
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

  function lifeOver(worker: WorkerId): void {
    assert(lives.delete(worker), `worker ${worker} ends twice`);
    leases.giveBack(worker);
  }

  function lifeOf(effect: { readonly worker: WorkerId; readonly incarnation: number }): LifeRecord {
    const life = lives.get(effect.worker);
    assert(life?.incarnation === effect.incarnation, `an effect for worker ${effect.worker}, whose life is over`);
    return life;
  }

  function admitted(effect: Extract<Effect, { type: 'admit' }>): void {
    assert(!lives.has(effect.worker), `worker ${effect.worker} is admitted twice`);
    const incarnation = (incarnations.get(effect.worker) ?? 0) + 1;
    assert(effect.incarnation === incarnation, `worker ${effect.worker}: incarnation ${effect.incarnation}`);
    incarnations.set(effect.worker, incarnation);
    lives.set(effect.worker, {
      incarnation,
      started: false,
      synced: false,
      finishing: false,
      suspect: false,
      finite: true,
      sound: true,
      leaving: false,
      ready: null,
      unreported: null,
    });
  }

  function groupAborted(effect: Extract<Effect, { type: 'abortGroup' }>): void {
    const record = assertPresent(open.get(effect.group), `open group ${effect.group}`);
    for (const { worker } of effect.members) {
      assert(!record.reported.has(worker), `worker ${worker} is told of an abort that it knows of`);
    }
    tally.aborts += 1;
  }

  function checkEvaluated(workers: readonly WorkerId[]): void {
    const unsound = workers.filter((worker) => lives.get(worker)?.sound === false);
    assert(unsound.length === 0 || unsound.length === workers.length, `an evaluation of worker ${unsound.join()}`);
  }

  function runEnded(effect: Extract<Effect, { type: 'runEnded' }>): void {
    ended = true;
    const synced = [...lives.entries()].filter(([, life]) => life.synced);
    const isSound = synced.length === 0 || synced.some(([, { sound }]) => sound);
    assert(
      isSound || effect.reason.includes('no live replica is finite'),
      `no model, but the reason is ${effect.reason}`,
    );
    if (!isSound) tally.endsNotFinite += 1;
    const living = isSound ? synced.map(([worker]) => worker) : [];
    const same = living.length === effect.holders.length && living.every((worker) => effect.holders.includes(worker));
    assert(same, `the run ends with holders ${effect.holders.join()}, but ${living.join()} are alive`);
    assert(effect.progress.samples === samples && effect.progress.localSteps === localSteps, 'progress is lost');
    leases.checkEnd(effect.reason);
  }

  function take(effect: Effect, event: ControllerEvent): void {
    assert(!ended, `"${effect.type}" after the end of the run`);
    switch (effect.type) {
      case 'admit':
        return admitted(effect);
      case 'transfer':
        assert(lifeOf(effect.donor).sound, `worker ${effect.donor.worker} hands over what is not finite`);
        lifeOf(effect.joiner);
        return;
      case 'start': {
        const life = lifeOf(effect);
        assert(!life.started, `worker ${effect.worker} is started twice`);
        life.started = true;
        startedMs ??= event.nowMs;
        if (startedMs !== event.nowMs) tally.joinersStarted += 1;
        return;
      }
      case 'formGroup':
        return formed(effect.group);
      case 'abortGroup':
        return groupAborted(effect);
      case 'groupClosed':
        return groupClosed(effect);
      case 'release': {
        const life = lifeOf(effect);
        assert(
          life.ready?.k === effect.k,
          `worker ${effect.worker} is released with k ${effect.k}, not ${life.ready?.k}`,
        );
        assert(life.sound || life.finishing, `worker ${effect.worker} is released, but not finite`);
        life.ready = null;
        tally.releases += 1;
        return;
      }
      case 'wentOn':
        lifeOf(effect).ready = null;
        return;
      case 'lease':
        lifeOf(effect);
        if (leases.give(effect.worker, effect.lease)) tally.leasesGivenAgain += 1;
        return;
      case 'finish': {
        const life = lifeOf(effect);
        assert(!life.finishing, `worker ${effect.worker} is told to finish twice`);
        life.finishing = true;
        return;
      }
      case 'dead':
        tally.deaths += 1;
        return lifeOver(effect.worker);
      case 'left':
        tally.left += 1;
        return lifeOver(effect.worker);
      case 'violation':
        assert(false, `worker ${effect.worker} is honest, but was expelled: ${effect.message}`);
        return;
      case 'evaluate':
        assert(effect.mark > mark, `evaluation mark ${effect.mark} after ${mark}`);
        ({ mark } = effect);
        checkEvaluated(effect.workers);
        return;
      case 'runEnded':
        return runEnded(effect);
      default:
        return;
    }
  }

  return {
    before,
    after(event, effects, view, nextDeadlineMs) {
      if (isIdle) {
        const answered = effects.filter(({ type }) => type !== 'refuse');
        assert(answered.length === 0, `"${event.type}" of a life that is over, or after the end, has effects`);
      } else for (const effect of effects) take(effect, event);
      if (!ended) checkWaiting(view);
      assert(nextDeadlineMs === null || nextDeadlineMs > event.nowMs, `deadline ${nextDeadlineMs} at ${event.nowMs}`);
      tally.holdsExpired = view.holdsExpired;
    },
    get ended() {
      return ended;
    },
    tally,
  };
}

function lifeKey({ worker, incarnation }: Life): string {
  return `${worker}/${incarnation}`;
}
