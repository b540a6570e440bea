/**
 * The controller of one run: sockets and timers around the pure state machine of core. It feeds core with events, carries
 * out its effects, and tells the run's story as `RunEvent`s. Parameters never pass through it.
 */
import { randomBytes } from 'node:crypto';
import { PreduceError } from '../base/errors.js';
import { workerId } from '../base/ids.js';
import { type CoreConfig, defaultCoreConfig } from '../core/config.js';
import { type Controller, createController } from '../core/controller.js';
import type { RunFacts } from '../core/facts.js';
import { strategies } from '../core/strategies/strategies.js';
import type { RunEvent } from '../observe/run-events.js';
import { HEARTBEATS_PER_LIVENESS, LIMITS } from '../wire/limits.js';
import type { Address } from '../wire/messages.js';
import { createCheckpoints, type SaveCheckpoint } from './checkpoints.js';
import { acceptConnection, checkSilence, sendAway } from './connections.js';
import { startControlServer, type TlsIdentity } from './control-server.js';
import { createCoreDriver } from './core-driver.js';
import { carryOut } from './effects.js';
import { createEvaluations, type Evaluations } from './evaluations.js';
import { createPersistence } from './persistence.js';
import type { RunParts, RunSettings } from './run-parts.js';
import type { RunStore, StoredRun } from './run-store.js';
import { createRunStory } from './run-story.js';
import { createServers } from './servers.js';
import { createSessions } from './sessions.js';

export interface ControllerOptions {
  /** Settings of the state machine; `defaultCoreConfig` fills in what is left out. */
  readonly core: Partial<CoreConfig>;
  /** Where to listen. Default 127.0.0.1, any free port. */
  readonly address?: Address;
  /** What a connection must show; null (default): nothing. */
  readonly token?: string | null;
  /** Encrypts the control connections, and has peers encrypt theirs; null (default): nothing is encrypted. */
  readonly tls?: TlsIdentity | null;
  readonly runId?: string;
  /** Where the run is written down, so that another controller can go on with it; null (default): nowhere. */
  readonly store?: RunStore | null;
  /** Kept there beside the run: JSON values. */
  readonly storedSettings?: Readonly<Record<string, unknown>>;
  /** Sent to every worker: what the run is made of. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** An evaluator is being started: the end of the run waits for it, for the liveness time-out at most. Default false. */
  readonly expectsEvaluator?: boolean;
  /** The run ends when the mean replica reaches this test accuracy. */
  readonly stopAtAccuracy?: number | null;
  /** The run ends this long after its start, in ms. */
  readonly durationMs?: number | null;
  /** Makes a checkpoint of the parts that the workers have written. Without it `core.checkpoints` must be null. */
  readonly saveCheckpoint?: SaveCheckpoint;
  /** Where the run's clock starts, in ms: the time that a resumed run had taken before. Default 0. */
  readonly clockStartMs?: number;
  readonly onEvent?: (event: RunEvent) => void;
}

export interface RunningController {
  readonly runId: string;
  readonly address: Address;
  /** ws:// or wss:// address for workers. */
  readonly url: string;
  /** Resolves when the run is over: final average held, evaluated where there is an evaluator, workers let go. */
  readonly ended: Promise<void>;
  /** What core shows of the run, for displays. */
  view(): ReturnType<Controller['view']>;
  /** Drains the run: no further steps, then the final average. */
  stop(reason: string): void;
  /** Closes the port and every connection, and tells workers of a run that is not over that it ends here. */
  close(): Promise<void>;
}

/**
 * Starts a controller; one whose store holds a run goes on with that. Throws `bad-config`, `port-unavailable`, `run-ended` (of a
 * run that is over), `state-unusable`.
 */
export async function controller(options: ControllerOptions): Promise<RunningController> {
  const store = options.store ?? null;
  const before = store?.before?.run ?? null;
  const facts = store?.before?.facts ?? null;
  if (before !== null && facts?.ended === true) throw runIsOver(before, facts);
  const config = defaultCoreConfig({ ...options.core, persists: store !== null });
  const core = createController(config, facts && { facts, nowMs: performance.now() });
  const settings: RunSettings = {
    runId: before?.runId ?? options.runId ?? `run-${randomBytes(4).toString('hex')}`,
    runKey: before?.runKey ?? randomBytes(16).toString('hex'),
    resumeKey: before?.resumeKey ?? randomBytes(32).toString('hex'),
    token: options.token ?? null,
    encrypts: options.tls != null,
    config: { ...options.config },
    livenessMs: config.livenessMs,
  };
  const sessions = createSessions({
    numbers: (facts?.incarnations ?? []).map(([worker]) => workerId(worker)),
    shape: before?.shape ?? null,
  });
  const story = createRunStory(options.onEvent, clockStart(options));
  const ended = createSignal();
  const driver = createCoreDriver(core, (effect) => carryOut(run, effect));
  let durationTimer: NodeJS.Timeout | null = null;
  let startedAtMs = before?.startedAtMs ?? null;

  function stop(reason: string): void {
    story.tell({ type: 'stopping', reason });
    driver.step({ type: 'stop', reason });
  }

  const run: RunParts = {
    settings,
    core,
    sessions,
    story,
    evaluations: createRunEvaluations({
      settings,
      sessions,
      story,
      stopAtAccuracy: options.stopAtAccuracy ?? null,
      expectsEvaluator: options.expectsEvaluator ?? false,
      stop,
    }),
    servers: createServers({
      count: strategies[config.strategy].usesServers === true ? config.servers : 0,
      livenessMs: config.livenessMs,
      runKey: settings.runKey,
      shape: () => sessions.shape,
      peersOf: sessions.peersOf,
      step: driver.step,
      onFault: (message) => story.tell({ type: 'fault', kind: 'server', worker: null, message }),
    }),
    checkpoints: createCheckpoints({
      story,
      save: options.saveCheckpoint ?? null,
      layout: () => sessions.shape?.fingerprint ?? '',
    }),
    step: driver.step,
    persist: (now) => persistence.persist(now),
    onStarted() {
      startedAtMs ??= Date.now() - story.nowMs();
      persistence.noteRun();
      if (options.durationMs == null) return;
      const leftMs = Math.max(0, options.durationMs - story.nowMs());
      durationTimer = setTimeout(() => stop('the time is up'), Math.min(leftMs, LIMITS.heartbeatMsMax));
    },
    onOver: ended.fire,
  };
  const persistence = createPersistence({
    store,
    story,
    describe: () => ({
      runId: settings.runId,
      runKey: settings.runKey,
      resumeKey: settings.resumeKey,
      port: server.address.port,
      startedAtMs,
      shape: sessions.shape,
      settings: { ...options.storedSettings },
    }),
  });
  const server = await startControlServer({
    address: addressFor(options),
    tls: options.tls ?? null,
    accept: (peer) => acceptConnection(run, peer),
    requestTimeoutMs: config.livenessMs,
    health: () => ({
      status: 'ok',
      runId: settings.runId,
      workers: sessions.workers.length,
      started: story.started,
    }),
  });
  try {
    persistence.begin();
  } catch (error) {
    await server.close();
    throw error;
  }
  if (facts?.started === true) goOn(run, facts);
  // What is due already, and time runs for those who do not come back.
  if (facts !== null) driver.step({ type: 'tick' });
  const watch = setInterval(() => checkSilence(run), config.livenessMs / HEARTBEATS_PER_LIVENESS);

  return {
    runId: settings.runId,
    address: server.address,
    url: urlOf(server.address, settings.encrypts),
    ended: ended.fired,
    view: () => core.view(performance.now()),
    stop,
    async close() {
      clearInterval(watch);
      driver.close();
      if (durationTimer !== null) clearTimeout(durationTimer);
      sendAway(run, 'the controller was stopped before the run was over');
      await server.close();
    },
  };
}

function runIsOver({ runId }: StoredRun, { finishReason }: RunFacts): PreduceError {
  return new PreduceError(
    'run-ended',
    `--state: expected a run that goes on, got run ${runId}, which is over (${finishReason}): choose another directory for a new one`,
  );
}

/** Where workers of before look for the run, if any port will do otherwise. */
function addressFor({ address = { host: '127.0.0.1', port: 0 }, store }: ControllerOptions): Address {
  return address.port === 0 ? { ...address, port: store?.before?.run.port ?? 0 } : address;
}

/** The run's clock went on while no controller ran, as its workers did. */
function clockStart({ clockStartMs = 0, store }: ControllerOptions): number {
  const startedAtMs = store?.before?.run.startedAtMs ?? null;
  return startedAtMs === null ? clockStartMs : Math.max(clockStartMs, Date.now() - startedAtMs);
}

/** The workers compute already. */
function goOn({ core, story, onStarted }: RunParts, { progress }: RunFacts): void {
  story.start();
  story.tell({ type: 'restarted', term: core.term, ...progress });
  onStarted();
}

function urlOf({ host, port }: Address, encrypts: boolean): string {
  return `${encrypts ? 'wss' : 'ws'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function createSignal(): { readonly fired: Promise<void>; fire(): void } {
  let fire: () => void = () => undefined;
  const fired = new Promise<void>((resolve) => {
    fire = resolve;
  });
  return { fired, fire: () => fire() };
}

interface RunEvaluationsParts extends Pick<RunParts, 'settings' | 'sessions' | 'story'> {
  readonly stopAtAccuracy: number | null;
  readonly expectsEvaluator: boolean;
  stop(reason: string): void;
}

/** Evaluations that the run's story tells of, and that end the run at its target. */
function createRunEvaluations(parts: RunEvaluationsParts): Evaluations {
  const { settings, sessions, story, stopAtAccuracy, expectsEvaluator, stop } = parts;
  return createEvaluations({
    nowMs: story.nowMs,
    expected: expectsEvaluator,
    livenessMs: settings.livenessMs,
    peersOf: sessions.peersOf,
    runKey: settings.runKey,
    stateLength: () => sessions.shape?.stateLength ?? 0,
    onEvaluated({ mark, final, progress, timeMs }, { loss, accuracy, replicas, cpuMs }) {
      story.tell({ type: 'evaluated', mark, final, ...progress, loss, accuracy, replicas, cpuMs }, timeMs);
      if (stopAtAccuracy === null || accuracy < stopAtAccuracy || final) return;
      stop(`the target accuracy ${stopAtAccuracy} was reached`);
    },
    onFailed({ mark }, reason) {
      story.tell({ type: 'fault', kind: 'evaluation', worker: null, message: `evaluation ${mark} failed: ${reason}` });
    },
  });
}
