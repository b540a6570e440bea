/**
 * A run of the pure controller under test: events in short words, the effects of the last one, all groups formed. Scenarios read
 * as `startedRun(3).ready(0).ready(1).done(0, 1)`.
 */
import { assert, assertPresent } from '../../src/base/assert.js';
import { type LeaseId, workerId } from '../../src/base/ids.js';
import { type CoreConfig, defaultCoreConfig } from '../../src/core/config.js';
import { createController } from '../../src/core/controller.js';
import type { Effect } from '../../src/core/effects.js';
import type { Standing, UntimedEvent } from '../../src/core/events.js';
import type { Continuation, RunFacts } from '../../src/core/facts.js';
import type { Group } from '../../src/core/group.js';
import type { RunView } from '../../src/core/view.js';

export type EffectOf<T extends Effect['type']> = Extract<Effect, { type: T }>;

/** What a scenario is told to. Each step comes 1 ms after the last, unless it says. */
export class ScriptedRun {
  private readonly controller;
  private readonly incarnations = new Map<number, number>();
  private tickets = 0;
  nowMs = 0;
  effects: readonly Effect[] = [];
  readonly groups: Group[] = [];

  /** What was written down last. */
  facts: RunFacts | null = null;

  private readonly overrides: Partial<CoreConfig>;

  constructor(overrides: Partial<CoreConfig> = {}, continuation: Continuation | null = null) {
    this.overrides = overrides;
    const config = defaultCoreConfig({ weights: { rule: 'constant' }, ...overrides });
    this.controller = createController(config, continuation);
    this.nowMs = continuation?.nowMs ?? 0;
    for (const [worker, incarnation] of continuation?.facts.incarnations ?? []) {
      this.incarnations.set(worker, incarnation);
    }
  }

  /** The next controller of the run, which has what this one wrote down, by way of JSON. */
  restarted(): ScriptedRun {
    const facts = JSON.parse(JSON.stringify(assertPresent(this.facts, 'facts: the run persists nothing'))) as RunFacts;
    // The clock of another process.
    return new ScriptedRun(this.overrides, { facts, nowMs: 7 });
  }

  step(event: UntimedEvent, afterMs = 1): this {
    this.nowMs += afterMs;
    this.effects = this.controller.step({ nowMs: this.nowMs, ...event });
    for (const effect of this.effects) {
      if (effect.type === 'admit') this.incarnations.set(effect.worker, effect.incarnation);
      if (effect.type === 'formGroup') this.groups.push(effect.group);
      if (effect.type === 'persist') this.facts = effect.facts;
    }
    return this;
  }

  /** The present life of the worker, unless told which. */
  life(worker: number, incarnation = this.incarnations.get(worker) ?? 1) {
    return { worker: workerId(worker), incarnation };
  }

  join(requested: number | null = null): this {
    this.tickets += 1;
    return this.step({
      type: 'joined',
      ticket: this.tickets,
      requested: requested === null ? null : workerId(requested),
    });
  }

  synced(worker: number, k = 0): this {
    return this.step({ type: 'synced', ...this.life(worker), k });
  }

  ready(worker: number, k = this.view(worker).k + 1, finite = true, samples = 10): this {
    return this.step({ type: 'ready', ...this.life(worker), k, samples, finite });
  }

  done(...workers: number[]): this {
    for (const worker of workers) this.step({ type: 'done', ...this.life(worker), group: this.lastGroupOf(worker).id });
    return this;
  }

  aborted(worker: number): this {
    const group = this.lastGroupOf(worker).id;
    return this.step({ type: 'aborted', ...this.life(worker), group, reason: 'told so' });
  }

  lost(worker: number): this {
    return this.step({ type: 'lost', ...this.life(worker), reason: 'killed' });
  }

  suspected(worker: number): this {
    return this.step({ type: 'suspected', ...this.life(worker), reason: 'no heartbeat' });
  }

  /** Comes back on a new connection, computing, with what it is known to have done, unless told otherwise. */
  returned(worker: number, standing: Partial<Standing> = {}): this {
    this.tickets += 1;
    const known = this.run.workers.find((each) => each.worker === worker);
    const usual: Standing = {
      doing: 'computing',
      k: known?.k ?? 0,
      ready: null,
      finite: true,
      localSteps: known?.localSteps ?? 0,
      samples: 10 * (known?.localSteps ?? 0),
      samplesSinceGroup: 0,
      lease: null,
      finished: null,
    };
    const life = this.life(worker);
    return this.step({ type: 'returned', ticket: this.tickets, ...life, standing: { ...usual, ...standing } });
  }

  say(type: 'resumed' | 'leaving' | 'finished', worker: number): this {
    return this.step({ type, ...this.life(worker) });
  }

  requestLease(worker: number, finished: number | null = null): this {
    return this.step({ type: 'leaseRequested', ...this.life(worker), finished: finished as LeaseId | null });
  }

  lastGroupOf(worker: number): Group {
    return assertPresent(
      this.groups.findLast(({ members }) => members.some((member) => member.worker === worker)),
      `a group of worker ${worker}`,
    );
  }

  /** Effects of one type of the last event. */
  of<T extends Effect['type']>(type: T): readonly EffectOf<T>[] {
    return this.effects.filter((effect): effect is EffectOf<T> => effect.type === type);
  }

  types(): readonly string[] {
    return this.effects.map(({ type }) => type);
  }

  /** Workers of all groups formed, in the order of their sums. */
  formed(): readonly (readonly number[])[] {
    return this.groups.map(({ members }) => members.map(({ worker }) => worker));
  }

  get run(): RunView {
    return this.controller.view();
  }

  get deadlineMs(): number | null {
    return this.controller.nextDeadlineMs();
  }

  rho(): number | null {
    return this.controller.rho();
  }

  view(worker: number) {
    return assertPresent(
      this.run.workers.find((each) => each.worker === worker),
      `worker ${worker}`,
    );
  }
}

/** A run whose workers 0 .. count - 1 compute their first step. */
export function startedRun(count: number, overrides: Partial<CoreConfig> = {}): ScriptedRun {
  const run = new ScriptedRun({ minWorkers: count, ...overrides });
  for (let worker = 0; worker < count; worker += 1) run.join();
  for (let worker = 0; worker < count; worker += 1) run.synced(worker);
  assert(run.run.started, 'the run has not started');
  return run;
}

/** Plain FIFO, where a scenario is about something else than connectivity. */
export function noConnectivity(overrides: Partial<CoreConfig> = {}): Partial<CoreConfig> {
  return { filter: 'none', ...overrides };
}
