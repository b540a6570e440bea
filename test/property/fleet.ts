/**
 * A fleet of simulated workers around the real, pure controller, in virtual time: random speeds, delays and faults from one
 * seed. Messages of one connection keep their order; a stalled connection holds them back; a dead worker's last ones still
 * arrive. Every step is checked (accounting.ts, connectivity.ts); what is wrong is thrown.
 */
import { assert } from '../../src/base/assert.js';
import { type GroupId, type WorkerId } from '../../src/base/ids.js';
import { createRandom } from '../../src/base/random.js';
import { defaultCoreConfig } from '../../src/core/config.js';
import { createController } from '../../src/core/controller.js';
import type { Effect } from '../../src/core/effects.js';
import { strategies } from '../../src/core/strategies/strategies.js';
import type { ControllerEvent, Life, UntimedEvent } from '../../src/core/events.js';
import { createAccounting, type Tally } from './accounting.js';
import { createConnectivityCheck } from './connectivity.js';
import { configOf, type Scenario } from './scenario.js';
import { type Collective, createSimWorker, type Report, type SimWorker } from './sim-worker.js';
import { createTimeline } from './timeline.js';

export interface FleetResult {
  /** Of every event and its effects. */
  readonly hash: number;
  readonly steps: number;
  readonly endReason: string;
  readonly tally: Tally;
}

/** One connection, and the life that it became. */
interface Link {
  readonly ticket: number;
  life: Life | null;
  sim: SimWorker | null;
  /** The controller said that the life is over. */
  isOver: boolean;
  state: 'open' | 'stalled' | 'closed';
  lastUpMs: number;
  lastDownMs: number;
  /** Held back while it is stalled. */
  readonly outbox: Report[];
  readonly inbox: Effect[];
}

const STEPS_MAX = 100_000;
const LATE_EVENTS = 40;

/** Plays a scenario to its end. Throws at the first rule that is broken. */
export function playFleet(scenario: Scenario): FleetResult {
  const random = createRandom(scenario.seed);
  const timeline = createTimeline();
  const controller = createController(defaultCoreConfig(configOf(scenario)));
  const accounting = createAccounting(scenario);
  const connectivity = createConnectivityCheck(scenario);
  const links: Link[] = [];
  const collectives = new Map<GroupId, Collective>();
  let hash = 0x811c9dc5;
  let steps = 0;
  let endReason = '';

  function step(untimed: UntimedEvent): void {
    steps += 1;
    const event: ControllerEvent = { nowMs: timeline.nowMs, ...untimed };
    accounting.before(event);
    const effects = controller.step(event);
    hash = hashText(hash, JSON.stringify([event, effects]));
    const view = controller.view();
    accounting.after(event, effects, view, controller.nextDeadlineMs());
    connectivity.observe(event, effects, view);
    // A step does all that its event has made possible: nothing is left for the next one to do.
    const more = controller.step({ nowMs: timeline.nowMs, type: 'tick' });
    assert(more.length === 0, `"${event.type}" left something undone: ${more.map(({ type }) => type).join()}`);
    for (const effect of effects) carryOut(effect);
  }

  function linkOf(life: Life): Link | undefined {
    return links.find((link) => link.life?.worker === life.worker && link.life.incarnation === life.incarnation);
  }

  function carryOut(effect: Effect): void {
    switch (effect.type) {
      case 'admit':
        return admit(effect.ticket, { worker: effect.worker, incarnation: effect.incarnation });
      case 'refuse':
        return close(links.find(({ ticket }) => ticket === effect.ticket));
      case 'transfer':
        return deliver(effect.joiner, effect);
      case 'formGroup':
        for (const member of effect.group.members) deliver(member, effect);
        return;
      case 'abortGroup':
        for (const member of effect.members) deliver(member, effect);
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
      case 'runEnded':
        endReason = effect.reason;
        return;
      default:
    }
  }

  function admit(ticket: number, life: Life): void {
    const link = links[ticket] as Link;
    link.life = life;
    link.sim = createSimWorker(life.worker, {
      timeline,
      random,
      scenario,
      send: (report) => (link.state === 'stalled' ? link.outbox.push(report) : sendUp(link, report)),
      collectiveOf(group) {
        const collective = collectives.get(group.id) ?? { group, arrived: new Map(), broken: false };
        collectives.set(group.id, collective);
        return collective;
      },
      replicaOf(donor) {
        const donorLink = linkOf(donor);
        return donorLink === undefined || donorLink.state === 'closed' ? null : (donorLink.sim?.k ?? null);
      },
    });
  }

  function sendUp(link: Link, report: Report): void {
    if (link.state === 'closed') return;
    link.lastUpMs = Math.max(link.lastUpMs, timeline.nowMs + 3 * random.next());
    timeline.at(link.lastUpMs, 'fleet', () => step({ ...report, ...(link.life as Life) }));
  }

  function deliver(life: Life, effect: Effect): void {
    const link = linkOf(life);
    if (link === undefined || link.state === 'closed') return;
    link.lastDownMs = Math.max(link.lastDownMs, timeline.nowMs + 3 * random.next());
    timeline.at(link.lastDownMs, 'fleet', () => {
      if (link.state === 'open') link.sim?.receive(effect);
      else if (link.state === 'stalled') link.inbox.push(effect);
    });
  }

  function close(link: Link | undefined): void {
    if (link === undefined) return;
    link.state = 'closed';
    link.sim?.die();
  }

  /** A worker that was declared dead notices, and may come back as a new life. */
  function onLifeOver(life: Life): void {
    const link = linkOf(life);
    if (link === undefined || link.state === 'closed') return;
    link.isOver = true;
    if (link.state === 'open') close(link);
    if (random.next() < 0.4) timeline.after(50 * random.next(), 'world', () => join(life.worker));
  }

  function join(requested: WorkerId | null): void {
    const ticket = links.length;
    const times = { lastUpMs: timeline.nowMs, lastDownMs: timeline.nowMs };
    links.push({ ticket, life: null, sim: null, isOver: false, state: 'open', ...times, outbox: [], inbox: [] });
    step({ type: 'joined', ticket, requested });
  }

  /** Some worker that lives. */
  function pick(): Link | undefined {
    const open = links.filter((link) => link.state === 'open' && link.life !== null);
    return open[random.below(open.length)];
  }

  function kill(): void {
    const link = pick();
    if (link?.life == null) return;
    const { life } = link;
    close(link);
    const type = random.next() < 0.5 ? 'lost' : 'suspected';
    timeline.after(4 * random.next(), 'fleet', () => step({ type, ...life, reason: 'killed' }));
    if (random.next() < 0.4) timeline.after(60 * random.next(), 'world', () => join(life.worker));
  }

  /** The connection is silent for a while; the worker computes on. */
  function stall(): void {
    const link = pick();
    if (link?.life == null) return;
    const { life } = link;
    link.state = 'stalled';
    step({ type: 'suspected', ...life, reason: 'no heartbeat' });
    timeline.after(1.3 * scenario.livenessMs * random.next(), 'world', () => {
      if (link.state !== 'stalled') return;
      link.state = 'open';
      step({ type: 'resumed', ...life });
      // Late, if it was declared dead meanwhile
      for (const report of link.outbox.splice(0)) sendUp(link, report);
      if (link.isOver) return close(link);
      for (const effect of link.inbox.splice(0)) link.sim?.receive(effect);
    });
  }

  function leave(): void {
    const link = pick();
    if (link !== undefined) sendUp(link, { type: 'leaving' });
  }

  function scheduleWorld(): void {
    const { horizonMs } = scenario;
    const sometime = (count: number, act: () => void): void => {
      for (let i = 0; i < count; i += 1) timeline.at(horizonMs * random.next(), 'world', act);
    };
    for (let i = 0; i < scenario.workers; i += 1) timeline.at(20 * random.next(), 'world', () => join(null));
    if (strategies[scenario.strategy].usesServers === true) {
      timeline.at(30 * random.next(), 'world', () => step({ type: 'serversReady' }));
    }
    sometime(scenario.joins, () => join(null));
    sometime(scenario.deaths, kill);
    sometime(scenario.leaves, leave);
    sometime(scenario.stalls, stall);
    if (scenario.stops) timeline.at(horizonMs, 'world', () => step({ type: 'stop', reason: 'stopped' }));
  }

  function advance(): void {
    const { nextMs } = timeline;
    const deadlineMs = controller.nextDeadlineMs();
    if (deadlineMs !== null && (nextMs === null || deadlineMs <= nextMs)) {
      timeline.advanceTo(deadlineMs);
      return step({ type: 'tick' });
    }
    if (nextMs !== null) return timeline.runNext();
    // Too few workers came, or lived, for the run to start.
    assert(!controller.view().started, 'nothing is left to happen, but the run is not over');
    step({ type: 'stop', reason: 'nobody comes any more' });
    assert(accounting.ended, 'a run that never started does not stop');
  }

  scheduleWorld();
  while (!accounting.ended) {
    assert(steps < STEPS_MAX, `livelock: no end after ${steps} steps`);
    advance();
    const isStuck = timeline.fleetPending === 0 && controller.nextDeadlineMs() === null && controller.view().started;
    assert(accounting.ended || !isStuck, 'deadlock: nobody computes, no message is on its way, the run is not over');
  }
  for (let late = 0; late < LATE_EVENTS && timeline.nextMs !== null; late += 1) timeline.runNext();
  accounting.tally.windows = connectivity.windows;
  return { hash, steps, endReason, tally: accounting.tally };
}

/** FNV-1a. */
function hashText(hash: number, text: string): number {
  let value = hash;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
