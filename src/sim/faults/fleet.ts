/**
 * A fleet of simulated workers around the real, pure controller, in virtual time: random speeds, delays and faults from one
 * seed (after TigerBeetle's simulator, and FoundationDB's before it). Every step is checked (accounting.ts, connectivity.ts); once
 * the faults are over the run must come to its end (patience.ts).
 */
import { assert, assertPresent } from '../../base/assert.js';
import type { GroupId, WorkerId } from '../../base/ids.js';
import { createRandom } from '../../base/random.js';
import { defaultCoreConfig, type RestoredRun } from '../../core/config.js';
import { type Controller, createController } from '../../core/controller.js';
import type { Effect } from '../../core/effects.js';
import type { ControllerEvent, Life, UntimedEvent } from '../../core/events.js';
import type { RunFacts } from '../../core/facts.js';
import { strategies } from '../../core/strategies/strategies.js';
import { createTimeline } from '../timeline.js';
import { type Accounting, createAccounting } from './accounting.js';
import { type ConnectivityCheck, createConnectivityCheck } from './connectivity.js';
import { type Collective, createHonestWorker, type HonestWorker } from './honest-worker.js';
import { createLink, createWires, type Link } from './links.js';
import { createPatience } from './patience.js';
import { configOf, type Scenario } from './scenario.js';
import { lifeKey } from './lives.js';
import { createTally, type Tally } from './tally.js';
import { isPaused } from './waiting-rules.js';
import { createTrace, type Trace } from './trace.js';

export interface Played {
  readonly scenario: Scenario;
  readonly steps: number;
  readonly endMs: number;
  readonly endReason: string;
  readonly tally: Tally;
  /** The rule that was broken; null: none. */
  readonly failure: string | null;
  readonly trace: Trace;
}

/** Many times what a run takes: more is a livelock. */
const STEPS_MAX = 20_000;
const LATE_EVENTS = 40;
/** Chance that a worker that was killed, or declared dead, comes again. */
const RETURN_RATE = 0.4;
/** Chance that everything dies after a checkpoint, and how soon. */
const CRASH_RATE = 0.3;
const CRASH_MS = 60;
/** Chance that a worker that loses its connection has died, too. */
const LOST_RATE = 0.1;
/** Liveness time-outs for which a controller that was started again waits for the workers of before. */
const RETURN_TIMEOUTS = 6;

type CompleteCheckpoint = Extract<Effect, { type: 'checkpoint' }>;

export interface FleetDependencies {
  /** Default: the real one. Tests of the rules break it. */
  readonly createController: typeof createController;
}

/** Plays a scenario to its end, or to the first rule that is broken. */
export function playScenario(scenario: Scenario, dependencies: FleetDependencies = { createController }): Played {
  const trace = createTrace();
  const fleet = createFleet(scenario, trace, dependencies);
  let failure: string | null = null;
  try {
    fleet.play();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // An error of the code itself is only found with its place.
    failure =
      error.name === 'AssertionError' || error.name === 'Error' ? error.message : (error.stack ?? error.message);
  }
  const { steps, endMs, endReason, tally } = fleet;
  return { scenario, steps, endMs, endReason, tally, failure, trace };
}

/** What an everything-dies fault begins anew, and of it what the death of the controller alone does. */
interface Era {
  controller: Controller;
  accounting: Accounting;
  connectivity: ConnectivityCheck;
  /** What the next controller would go on from; null: nothing yet. */
  facts: RunFacts | null;
  readonly links: Link[];
  readonly collectives: Map<GroupId, Collective>;
  /** What its workers go on from. */
  readonly origin: CompleteCheckpoint | null;
}

function createFleet(scenario: Scenario, trace: Trace, dependencies: FleetDependencies) {
  const random = createRandom(scenario.seed).fork(1);
  const timeline = createTimeline();
  const tally = createTally();
  const usesServers = strategies[scenario.strategy].usesServers === true;
  const patience = createPatience(scenario);
  /** Samples of their leases that workers had used when they came back, by their lives. */
  const usedAtReturn = new Map<string, number>();
  const usedBy = (life: Life): number => usedAtReturn.get(lifeKey(life)) ?? 0;
  let era = createEra(null);
  let lastCheckpoint: CompleteCheckpoint | null = null;
  /** Acts of the fleet itself (messages, computing, collectives) that are to come; those from outside do not count. */
  let fleetPending = 0;
  let steps = 0;
  let endReason = '';

  function createEra(origin: CompleteCheckpoint | null): Era {
    const restored: RestoredRun | null =
      origin === null ? null : { progress: origin.progress, ledger: origin.ledger, checkpoint: origin.checkpoint };
    const accounting = createAccounting({ scenario, tally, restored, facts: null, usedBy });
    return {
      controller: dependencies.createController(defaultCoreConfig({ ...configOf(scenario), restored })),
      accounting,
      connectivity: createConnectivityCheck(scenario, accounting.books),
      facts: null,
      links: [],
      collectives: new Map(),
      origin,
    };
  }

  /** Something that the fleet does by itself; it dies with its era. */
  function at(timeMs: number, act: () => void): void {
    const own = era;
    fleetPending += 1;
    timeline.at(timeMs, () => {
      fleetPending -= 1;
      if (own === era) act();
    });
  }

  function after(delayMs: number, act: () => void): void {
    at(timeline.nowMs + delayMs, act);
  }

  /** Something that befalls the fleet, or the end of it. */
  function befall(delayMs: number, act: () => void): void {
    const own = era;
    patience.faultUntil(timeline.nowMs + delayMs);
    timeline.at(timeline.nowMs + delayMs, () => {
      if (own === era) act();
    });
  }

  function strikes(rate: number): boolean {
    return timeline.nowMs < scenario.horizonMs && random.next() < rate;
  }

  function latencyMs(): number {
    const late = strikes(scenario.delayRate) ? scenario.delayMs * random.next() : 0;
    return scenario.latencyMs * random.next() + late;
  }

  const wires = createWires({
    nowMs: () => timeline.nowMs,
    at,
    latencyMs,
    arrived: (life, report) => step({ ...report, ...life }),
  });

  function step(untimed: UntimedEvent): void {
    steps += 1;
    const { controller, accounting, connectivity } = era;
    const event: ControllerEvent = { nowMs: timeline.nowMs, ...untimed };
    if (event.type === 'ready') patience.progressed(event.nowMs);
    accounting.before(event);
    let effects: readonly Effect[] = [];
    try {
      effects = controller.step(event);
    } finally {
      trace.step(event, effects);
    }
    const view = controller.view();
    accounting.after(event, effects, view, controller.nextDeadlineMs());
    connectivity.observe(effects, view);
    tally.holdsExpired += view.holdsExpired - holdsBefore;
    holdsBefore = view.holdsExpired;
    // A step does all that its event has made possible: nothing is left for the next one to do.
    const more = controller.step({ nowMs: timeline.nowMs, type: 'tick' });
    assert(more.length === 0, `"${event.type}" left something undone: ${more.map(({ type }) => type).join()}`);
    for (const effect of effects) carryOut(effect);
  }

  let holdsBefore = 0;

  function linkOf(life: Life): Link | undefined {
    return era.links.find((link) => link.state !== 'cut' && link.life !== null && lifeKey(link.life) === lifeKey(life));
  }

  function deliver(life: Life, effect: Effect): void {
    const link = linkOf(life);
    // A worker that is not back yet, by what the controller knows, cannot be told anything.
    if (link?.greeted === true) wires.sendDown(link, effect);
  }

  function carryOut(effect: Effect): void {
    switch (effect.type) {
      case 'admit':
        return admit(effect.ticket, { worker: effect.worker, incarnation: effect.incarnation });
      case 'refuse':
        return wires.close(era.links.find(({ ticket }) => ticket === effect.ticket));
      case 'transfer':
        return deliver(effect.joiner, effect);
      case 'formGroup':
        for (const member of effect.group.members) deliver(member, effect);
        return;
      case 'abortGroup':
        for (const member of effect.members) deliver(member, effect);
        return;
      case 'askCheckpoint':
        for (const life of effect.workers) deliver(life, effect);
        return;
      case 'seed':
      case 'start':
      case 'release':
      case 'lease':
      case 'finish':
        return deliver(effect, effect);
      case 'dead':
      case 'left':
        return onLifeOver(effect);
      case 'checkpoint':
        return onCheckpoint(effect);
      case 'persist':
        era.facts = effect.facts;
        return;
      case 'welcomeBack':
        assertPresent(era.links[effect.ticket], `connection ${effect.ticket}`).greeted = true;
        return;
      case 'returnRefused':
        return onReturnRefused(era.links[effect.ticket]);
      case 'runEnded':
        endReason = effect.reason;
        return;
      default:
    }
  }

  function admit(ticket: number, life: Life): void {
    const link = assertPresent(era.links[ticket], `connection ${ticket}`);
    const { collectives, origin } = era;
    link.life = life;
    link.greeted = true;
    link.sim = createHonestWorker(life.worker, {
      random,
      scenario,
      config: defaultCoreConfig(configOf(scenario)),
      after,
      strikes,
      send(report) {
        const present = linkOf(life);
        if (present !== undefined) wires.sendUp(present, report);
      },
      collectiveOf(group) {
        const collective = collectives.get(group.id) ?? { group, arrived: new Map(), broken: false };
        collectives.set(group.id, collective);
        return collective;
      },
      replicaOf(donor) {
        const donorLink = linkOf(donor);
        return donorLink === undefined || donorLink.state === 'closed' ? null : (donorLink.sim?.k ?? null);
      },
      restoredK() {
        const parts = origin?.parts ?? [];
        const own = parts.find(({ worker }) => worker === life.worker);
        return own?.k ?? Math.max(0, ...parts.map(({ k }) => k));
      },
    });
  }

  /** A worker that was declared dead notices, and may come back as a new life. */
  function onLifeOver(life: Life): void {
    const link = linkOf(life);
    if (link === undefined || link.state === 'closed') return;
    link.isOver = true;
    if (link.state === 'open') wires.close(link);
    if (random.next() < RETURN_RATE) befall(50 * random.next(), () => join(life.worker));
  }

  function join(requested: WorkerId | null): void {
    const ticket = era.links.length;
    era.links.push(createLink(ticket, timeline.nowMs));
    step({ type: 'joined', ticket, requested });
  }

  /** Some worker that lives, and that the controller has heard of on its connection. */
  function pick(): { readonly link: Link; readonly life: Life } | null {
    const open = era.links.filter((link) => link.state === 'open' && link.greeted);
    const link = open[random.below(open.length)];
    return link?.life == null ? null : { link, life: link.life };
  }

  function kill(): void {
    const picked = pick();
    if (picked === null) return;
    const { link, life } = picked;
    trace.note(timeline.nowMs, `worker ${life.worker} is killed`);
    wires.close(link);
    const type = random.next() < 0.5 ? 'lost' : 'suspected';
    after(4 * random.next(), () => step({ type, ...life, reason: 'killed' }));
    if (random.next() < RETURN_RATE) befall(60 * random.next(), () => join(life.worker));
  }

  /** Nothing is heard of a worker for a while, shorter or longer than it takes to be declared dead. */
  function silence(isFrozen: boolean): void {
    const picked = pick();
    if (picked === null) return;
    const { link, life } = picked;
    const { livenessMs } = scenario;
    trace.note(timeline.nowMs, `worker ${life.worker} ${isFrozen ? 'hangs' : 'is not heard of'}`);
    wires.fallSilent(link, isFrozen);
    const own = link.silences;
    const isSilent = (): boolean => link.state === 'silent' && link.silences === own;
    let isSuspect = false;
    const suspect = (): void => {
      if (!isSilent()) return;
      isSuspect = true;
      step({ type: 'suspected', ...life, reason: 'no heartbeat' });
    };
    if (random.next() < 0.5) suspect();
    else after(livenessMs / 2, suspect);
    befall(2 * livenessMs * random.next(), () => {
      if (!isSilent()) return;
      trace.note(timeline.nowMs, `worker ${life.worker} is back`);
      if (isSuspect) step({ type: 'resumed', ...life });
      wires.speakAgain(link);
    });
  }

  /** The connection is gone, and what was on its way. The worker is not, mostly, and comes back. */
  function cut(link: Link, awayMs: number): void {
    const { life, sim } = link;
    if (life === null || sim === null) return;
    link.state = 'cut';
    sim.disconnect();
    if (link.leaving || random.next() < LOST_RATE) sim.die();
    else befall(awayMs, () => comeBack(life, sim));
  }

  function comeBack(life: Life, sim: HonestWorker): void {
    const ticket = era.links.length;
    // What it had stood still with is not heard either.
    sim.thaw();
    const { standing, used } = sim.reconnect();
    const link = { ...createLink(ticket, timeline.nowMs), life, sim };
    era.links.push(link);
    link.lastUpMs += latencyMs();
    at(link.lastUpMs, () => {
      if (link.state === 'cut') return;
      usedAtReturn.set(lifeKey(life), used);
      step({ type: 'returned', ticket, ...life, standing });
    });
  }

  function onReturnRefused(link: Link | undefined): void {
    const life = link?.life;
    if (link === undefined || life == null || link.state === 'closed') return;
    wires.close(link);
    if (random.next() < RETURN_RATE) befall(50 * random.next(), () => join(life.worker));
  }

  function cutOne(): void {
    const picked = pick();
    if (picked === null) return;
    const { link, life } = picked;
    trace.note(timeline.nowMs, `the connection of worker ${life.worker} is cut`);
    const awayMs = 1.5 * scenario.livenessMs * random.next();
    cut(link, awayMs);
    // A connection that is lost is not always seen to be lost before there is another one.
    after(random.next() < 0.5 ? 0 : 4 * random.next(), () => {
      if (linkOf(life) === undefined) step({ type: 'suspected', ...life, reason: 'its connection closed' });
    });
  }

  /** The controller dies, and another goes on from what it had written down. Workers notice, and come back. */
  function restart(): void {
    const { facts } = era;
    if (facts === null || era.accounting.ended) return;
    trace.note(timeline.nowMs, 'the controller dies, and another goes on');
    tally.restarts += 1;
    tally.windows += era.connectivity.windows;
    holdsBefore = 0;
    for (const link of era.links) {
      const isOver = link.state === 'closed' || link.state === 'cut';
      // The last words of a worker that is gone are lost, too.
      if (isOver) link.state = 'cut';
      else if (link.life !== null) cut(link, 1.5 * scenario.livenessMs * random.next());
      else {
        link.state = 'cut';
        befall(50 * random.next(), () => join(null));
      }
    }
    const config = defaultCoreConfig(configOf(scenario));
    era.controller = dependencies.createController(config, { facts, nowMs: timeline.nowMs });
    era.accounting = createAccounting({ scenario, tally, restored: null, facts, usedBy });
    era.connectivity = createConnectivityCheck(scenario, era.accounting.books);
    patience.faultUntil(timeline.nowMs + RETURN_TIMEOUTS * scenario.livenessMs);
    step({ type: 'tick' });
  }

  function leave(): void {
    const picked = pick();
    if (picked !== null) wires.sendUp(picked.link, { type: 'leaving' });
  }

  function onCheckpoint(effect: CompleteCheckpoint): void {
    lastCheckpoint = effect;
    if (tally.crashes < scenario.crashes && strikes(CRASH_RATE)) befall(CRASH_MS * random.next(), crash);
  }

  /** Every process dies; the run goes on from its last checkpoint. */
  function crash(): void {
    if (lastCheckpoint === null || era.accounting.ended) return;
    trace.note(timeline.nowMs, `everything dies, and goes on from checkpoint ${lastCheckpoint.checkpoint}`);
    for (const link of era.links) wires.close(link);
    tally.crashes += 1;
    tally.windows += era.connectivity.windows;
    holdsBefore = 0;
    era = createEra(lastCheckpoint);
    begin();
    // Who stopped the run before stops this one, too: no checkpoint says so.
    if (scenario.stops && timeline.nowMs >= scenario.horizonMs) befall(CRASH_MS, stop);
  }

  function stop(): void {
    step({ type: 'stop', reason: 'stopped' });
  }

  function begin(): void {
    for (let i = 0; i < scenario.workers; i += 1) befall(20 * random.next(), () => join(null));
    if (usesServers) befall(30 * random.next(), () => step({ type: 'serversReady' }));
  }

  function scheduleFaults(): void {
    const { horizonMs } = scenario;
    const sometime = (count: number, act: () => void): void => {
      for (let i = 0; i < count; i += 1) timeline.at(horizonMs * random.next(), act);
    };
    sometime(scenario.joins, () => join(null));
    sometime(scenario.deaths, kill);
    sometime(scenario.leaves, leave);
    sometime(scenario.stalls, () => silence(false));
    sometime(scenario.hangs, () => silence(true));
    sometime(scenario.cuts, cutOne);
    sometime(scenario.restarts, restart);
    if (usesServers && scenario.losesServer)
      sometime(1, () => step({ type: 'serverLost', reason: 'the connection of server 0 is closed' }));
    if (scenario.stops) timeline.at(horizonMs, stop);
  }

  function advance(): void {
    const { nextMs } = timeline;
    const { controller, accounting } = era;
    const deadlineMs = controller.nextDeadlineMs();
    if (deadlineMs !== null && (nextMs === null || deadlineMs <= nextMs)) {
      timeline.advanceTo(deadlineMs);
      return step({ type: 'tick' });
    }
    if (nextMs !== null) return timeline.runNext();
    const view = controller.view();
    // Too few workers came, or lived, for the run to start, or to go on.
    const isWaiting = !view.started || isPaused(scenario, accounting.books, view);
    assert(isWaiting, 'nothing is left to happen, but the run is not over');
    step({ type: 'stop', reason: 'nobody comes any more' });
    assert(accounting.ended || view.started, 'a run that never started does not stop');
  }

  function play(): void {
    begin();
    scheduleFaults();
    while (!era.accounting.ended) {
      assert(steps < STEPS_MAX, `livelock: no end after ${steps} steps`);
      advance();
      const { controller, accounting } = era;
      if (accounting.ended || !controller.view().started) continue;
      if (isPaused(scenario, accounting.books, controller.view())) {
        patience.progressed(timeline.nowMs);
        continue;
      }
      const isStuck = fleetPending === 0 && controller.nextDeadlineMs() === null;
      assert(!isStuck, 'deadlock: nobody computes, no message is on its way, the run is not over');
      patience.check(timeline.nowMs);
    }
    tally.windows += era.connectivity.windows;
    for (let late = 0; late < LATE_EVENTS && timeline.nextMs !== null; late += 1) timeline.runNext();
  }

  return {
    play,
    tally,
    get steps() {
      return steps;
    },
    get endMs() {
      return timeline.nowMs;
    },
    get endReason() {
      return endReason;
    },
  };
}
