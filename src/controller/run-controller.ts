/**
 * The controller of one run: sockets and timers around the pure state machine of core. It feeds core with events, carries
 * out its effects, and tells the run's story as `RunEvent`s. Parameters never pass through it.
 */
import { randomBytes } from 'node:crypto';
import { assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import { type GroupId, type LeaseId, type WorkerId, workerId } from '../base/ids.js';
import { type CoreConfig, defaultCoreConfig } from '../core/config.js';
import { type Controller, createController } from '../core/controller.js';
import type { Effect } from '../core/effects.js';
import type { Life, UntimedEvent } from '../core/events.js';
import type { Group } from '../core/group.js';
import type { RunEvent } from '../observe/run-events.js';
import { PROTOCOL_VERSION } from '../wire/limits.js';
import type { Address, ControllerMessage, Peer, WorkerMessage } from '../wire/messages.js';
import { type ControlPeer, type ControlPeerHandlers, startControlServer } from './control-server.js';
import { createEvaluations } from './evaluations.js';
import { checkHello, checkJoin, type ReplicaShape, replicaShape } from './handshake.js';

export interface ControllerOptions {
  /** Settings of the state machine; `defaultCoreConfig` fills in what is left out. */
  readonly core: Partial<CoreConfig>;
  /** Where to listen. Default 127.0.0.1, any free port. */
  readonly address?: Address;
  /** What a connection must show; null (default): nothing. */
  readonly token?: string | null;
  readonly runId?: string;
  /** Sent to every worker: what the run is made of. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The run ends when the mean replica reaches this test accuracy. */
  readonly stopAtAccuracy?: number | null;
  /** The run ends this long after its start, in ms. */
  readonly durationMs?: number | null;
  readonly onEvent?: (event: RunEvent) => void;
}

export interface RunningController {
  readonly address: Address;
  /** ws:// address for workers. */
  readonly url: string;
  /** Resolves when the run is over: final average held, evaluated where there is an evaluator, workers let go. */
  readonly ended: Promise<void>;
  /** What core shows of the run, for displays. */
  view(): ReturnType<Controller['view']>;
  /** Drains the run: no further steps, then the final average. */
  stop(reason: string): void;
  /** Closes the port and every connection at once. */
  close(): Promise<void>;
}

interface Session {
  readonly peer: ControlPeer;
  readonly ticket: number;
  state: 'new' | 'greeted' | 'joining' | 'worker' | 'evaluator' | 'closed';
  join: Extract<WorkerMessage, { type: 'join' }> | null;
  life: Life | null;
  address: Address | null;
  lastHeardMs: number;
  suspected: boolean;
}

/** Heartbeats per liveness time-out; a worker is suspect after half the time-out without a sign of life. */
const HEARTBEATS_PER_LIVENESS = 5;

/** Starts a controller. Throws `bad-config`, `port-unavailable`. */
export async function controller(options: ControllerOptions): Promise<RunningController> {
  const config = defaultCoreConfig(options.core);
  const core = createController(config);
  const runKey = randomBytes(16).toString('hex');
  const runId = options.runId ?? `run-${randomBytes(4).toString('hex')}`;
  const sessions = new Map<number, Session>();
  const byWorker = new Map<WorkerId, Session>();
  const donors = new Map<WorkerId, WorkerId>();
  const { livenessMs } = config;
  let ticketCount = 0;
  let shape: ReplicaShape | null = null;
  let startedAtMs: number | null = null;
  let timer: NodeJS.Timeout | null = null;
  let durationTimer: NodeJS.Timeout | null = null;
  let settleEnded: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    settleEnded = resolve;
  });

  const clockMs = (): number => performance.now() - (startedAtMs ?? performance.now());

  type Unstamped<T> = T extends unknown ? Omit<T, 'timeMs'> : never;
  function tell(event: Unstamped<RunEvent>, timeMs = clockMs()): void {
    options.onEvent?.({ ...event, timeMs });
  }

  function peersOf(workers: readonly WorkerId[]): Peer[] {
    return workers.flatMap((worker) => {
      const session = byWorker.get(worker);
      if (session?.life == null || session.address === null) return [];
      return [{ worker, incarnation: session.life.incarnation, address: session.address }];
    });
  }

  const evaluations = createEvaluations({
    nowMs: clockMs,
    peersOf,
    runKey,
    stateLength: () => shape?.stateLength ?? 0,
    onEvaluated(moment, result) {
      const { mark, final, progress, timeMs } = moment;
      const { loss, accuracy, replicas, cpuMs } = result;
      tell({ type: 'evaluated', mark, final, ...progress, loss, accuracy, replicas, cpuMs }, timeMs);
      const target = options.stopAtAccuracy ?? null;
      if (target !== null && accuracy >= target && !final) stop(`the target accuracy ${target} was reached`);
    },
    onFailed(moment, reason) {
      tell({ type: 'fault', kind: 'evaluation', worker: null, message: `evaluation ${moment.mark} failed: ${reason}` });
    },
  });

  function step(event: UntimedEvent): void {
    const effects = core.step({ ...event, nowMs: performance.now() });
    for (const effect of effects) carryOut(effect);
    schedule();
  }

  /** One timer for what core waits for. */
  function schedule(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const deadlineMs = core.nextDeadlineMs();
    if (deadlineMs === null) return;
    timer = setTimeout(() => step({ type: 'tick' }), Math.max(1, Math.ceil(deadlineMs - performance.now())));
  }

  function sendTo(life: Life, message: ControllerMessage): void {
    const session = byWorker.get(life.worker);
    if (session?.life?.incarnation === life.incarnation) session.peer.send(message);
  }

  function release(life: Life, farewell: ControllerMessage): void {
    const session = byWorker.get(life.worker);
    if (session?.life?.incarnation !== life.incarnation) return;
    session.peer.send(farewell);
    session.peer.close();
    session.state = 'closed';
    byWorker.delete(life.worker);
  }

  function formGroup(group: Group, progress: { samples: number; localSteps: number }): void {
    const members = group.members.map((member) => ({
      worker: member.worker,
      incarnation: member.incarnation,
      address: assertPresent(byWorker.get(member.worker)?.address, `the address of worker ${member.worker}`),
      k: member.k,
      weight: member.weight,
    }));
    const { id, kind, kMax } = group;
    for (const member of group.members) sendTo(member, { type: 'group', group: id, kind, members, kMax, progress });
    tell({
      type: 'groupFormed',
      group: id,
      kind,
      members: group.members.map((member) => member.worker),
      weights: group.members.map((member) => member.weight),
      staleness: group.members.map((member) => kMax - member.k),
      kMax,
    });
  }

  function admit(effect: Extract<Effect, { type: 'admit' }>): void {
    const session = assertPresent(sessions.get(effect.ticket), `connection ${effect.ticket}`);
    const join = assertPresent(session.join, 'the join message');
    const { worker, incarnation } = effect;
    session.state = 'worker';
    session.life = { worker, incarnation };
    session.address = join.address;
    byWorker.set(worker, session);
    shape ??= replicaShape(join);
    session.peer.send({ type: 'joined', worker, incarnation, runKey });
    tell({ type: 'workerJoined', worker, incarnation, hostname: join.hostname, pid: join.pid });
  }

  function onStart(effect: Extract<Effect, { type: 'start' }>): void {
    if (startedAtMs === null) {
      startedAtMs = performance.now();
      tell({ type: 'started', workers: [...byWorker.keys()].sort((a, b) => a - b) });
      if (options.durationMs != null) {
        durationTimer = setTimeout(() => stop('the time is up'), options.durationMs);
      }
    }
    sendTo(effect, { type: 'start' });
  }

  function onRunEnded(effect: Extract<Effect, { type: 'runEnded' }>): void {
    const { reason, holders, progress } = effect;
    const { maxGroupsToConnect, holdMs, holdsExpired } = core.view();
    const rho = core.rho();
    const timeMs = clockMs();
    tell({ type: 'runEnded', reason, holders, ...progress, rho, maxGroupsToConnect, holdMs, holdsExpired }, timeMs);
    void evaluations.requestFinal({ progress, workers: holders, timeMs }).then(() => {
      for (const session of sessions.values()) {
        if (session.life !== null) release(session.life, { type: 'close', reason: 'the run is over' });
      }
      evaluations.close();
      settleEnded();
    });
  }

  function carryOut(effect: Effect): void {
    switch (effect.type) {
      case 'admit':
        return admit(effect);
      case 'refuse': {
        const session = sessions.get(effect.ticket);
        if (session !== undefined) refuse(session, { type: 'refused', code: 'refused', message: effect.reason });
        return;
      }
      case 'seed':
        return sendTo(effect, { type: 'seed' });
      case 'transfer': {
        const [donor] = peersOf([effect.donor.worker]);
        donors.set(effect.joiner.worker, effect.donor.worker);
        if (donor !== undefined) sendTo(effect.joiner, { type: 'transfer', donor });
        return tell({ type: 'transferStarted', worker: effect.joiner.worker, donor: effect.donor.worker });
      }
      case 'start':
        return onStart(effect);
      case 'formGroup':
        return formGroup(effect.group, effect.progress);
      case 'abortGroup':
        for (const member of effect.members) {
          sendTo(member, { type: 'abort', group: effect.group, reason: effect.reason });
        }
        return tell({ type: 'fault', kind: 'abort', worker: null, message: `group ${effect.group}: ${effect.reason}` });
      case 'groupClosed': {
        const { group, committed, aborted } = effect;
        return tell({ type: 'groupClosed', group: group.id, kind: group.kind, committed, aborted });
      }
      case 'release':
        sendTo(effect, { type: 'release', k: effect.k, progress: effect.progress });
        return tell({ type: 'released', worker: effect.worker, k: effect.k });
      case 'lease': {
        const { worker, lease, progress } = effect;
        sendTo(effect, { type: 'lease', lease, progress });
        return tell({ type: 'leased', worker, lease: lease.id as LeaseId, epoch: lease.epoch, count: lease.count });
      }
      case 'finish':
        return sendTo(effect, { type: 'finish', reason: effect.reason });
      case 'left':
        release(effect, { type: 'left' });
        return tell({ type: 'workerLeft', worker: effect.worker });
      case 'dead':
        release(effect, { type: 'close', reason: `declared dead: ${effect.reason}` });
        return tell({ type: 'workerDead', worker: effect.worker, reason: effect.reason });
      case 'violation':
        release(effect, { type: 'close', reason: `protocol violation: ${effect.message}` });
        return tell({ type: 'fault', kind: 'violation', worker: effect.worker, message: effect.message });
      case 'evaluate':
        return evaluations.request(effect);
      case 'runEnded':
        return onRunEnded(effect);
      case 'log':
        if (effect.level === 'warn')
          tell({ type: 'fault', kind: 'hold-expired', worker: null, message: effect.message });
        return;
      default:
        effect satisfies never;
    }
  }

  function refuse(session: Session, refusal: Extract<ControllerMessage, { type: 'refused' }>): void {
    session.peer.send(refusal);
    session.peer.close();
    session.state = 'closed';
    tell({ type: 'fault', kind: 'refused', worker: null, message: `${session.peer.remote}: ${refusal.message}` });
  }

  function onHello(session: Session, message: Extract<WorkerMessage, { type: 'hello' }>): void {
    const refusal = checkHello(message, options.token ?? null);
    if (refusal !== null) return refuse(session, refusal);
    if (message.role === 'evaluator') {
      if (!evaluations.connect(session.peer)) {
        return refuse(session, { type: 'refused', code: 'refused', message: 'this run has an evaluator already' });
      }
      session.state = 'evaluator';
    } else {
      session.state = 'greeted';
    }
    session.peer.send({
      type: 'welcome',
      version: PROTOCOL_VERSION,
      runId,
      config: { ...options.config },
      heartbeatMs: livenessMs / HEARTBEATS_PER_LIVENESS,
    });
  }

  function onJoin(session: Session, message: Extract<WorkerMessage, { type: 'join' }>): void {
    const refusal = checkJoin(message, shape);
    if (refusal !== null) return refuse(session, refusal);
    session.state = 'joining';
    session.join = message;
    const requested = message.worker === null ? null : workerId(message.worker);
    step({ type: 'joined', ticket: session.ticket, requested });
  }

  function onWorkerMessage(life: Life, message: WorkerMessage): void {
    const { worker } = life;
    switch (message.type) {
      case 'synced':
        tell({ type: 'workerSynced', worker, k: message.k, donor: donors.get(worker) ?? null });
        return step({ type: 'synced', ...life, k: message.k });
      case 'transferFailed':
        tell({ type: 'fault', kind: 'transfer', worker, message: message.reason });
        return step({ type: 'transferFailed', ...life, reason: message.reason });
      case 'ready': {
        const { k, samples, finite } = message;
        tell({ ...message, worker });
        if (!finite)
          tell({ type: 'fault', kind: 'not-finite', worker, message: `a value is not finite after step ${k}` });
        return step({ type: 'ready', ...life, k, samples, finite });
      }
      case 'done': {
        const group = message.group as GroupId;
        tell({ type: 'reduced', worker, group, bytesSent: message.bytesSent, reduceMs: message.reduceMs });
        return step({ type: 'done', ...life, group });
      }
      case 'aborted':
        return step({ type: 'aborted', ...life, group: message.group as GroupId, reason: message.reason });
      case 'leaseRequest':
        return step({ type: 'leaseRequested', ...life, finished: message.finished as LeaseId | null });
      case 'finished':
        tell({ type: 'workerFinished', worker });
        return step({ type: 'finished', ...life });
      case 'leave':
        return step({ type: 'leaving', ...life });
      case 'log':
        return tell({ type: 'logged', worker, values: message.values });
      case 'heartbeat':
        return;
      case 'hello':
      case 'join':
      case 'evaluated':
      case 'evaluationFailed':
        throw new PreduceError('protocol-violation', `"${message.type}" is not for a worker that has joined`);
      default:
        message satisfies never;
    }
  }

  function onMessage(session: Session, message: WorkerMessage): void {
    session.lastHeardMs = performance.now();
    if (session.suspected && session.life !== null) {
      session.suspected = false;
      step({ type: 'resumed', ...session.life });
    }
    if (message.type === 'heartbeat') return;
    switch (session.state) {
      case 'new':
        if (message.type === 'hello') return onHello(session, message);
        throw new PreduceError('protocol-violation', `expected "hello" first, got "${message.type}"`);
      case 'greeted':
        if (message.type === 'join') return onJoin(session, message);
        throw new PreduceError('protocol-violation', `expected "join" after "hello", got "${message.type}"`);
      case 'worker':
        return onWorkerMessage(assertPresent(session.life, 'the life of a worker'), message);
      case 'evaluator':
        return evaluations.onMessage(message);
      case 'joining':
      case 'closed':
        return;
      default:
        session.state satisfies never;
    }
  }

  function onClose(session: Session, error: PreduceError | null): void {
    sessions.delete(session.ticket);
    if (session.state === 'evaluator') return evaluations.disconnect();
    if (session.state !== 'worker' || session.life === null) return;
    session.suspected = true;
    suspect(session.life, error?.message ?? 'its connection closed');
  }

  function suspect(life: Life, reason: string): void {
    tell({ type: 'fault', kind: 'suspect', worker: life.worker, message: reason });
    step({ type: 'suspected', ...life, reason });
  }

  function accept(peer: ControlPeer): ControlPeerHandlers {
    const session: Session = {
      peer,
      ticket: ticketCount,
      state: 'new',
      join: null,
      life: null,
      address: null,
      lastHeardMs: performance.now(),
      suspected: false,
    };
    ticketCount += 1;
    sessions.set(session.ticket, session);
    return { onMessage: (message) => onMessage(session, message), onClose: (error) => onClose(session, error) };
  }

  /** Watches for missing heartbeats. */
  const watch = setInterval(() => {
    const silentSinceMs = performance.now() - livenessMs / 2;
    for (const session of sessions.values()) {
      if (session.state !== 'worker' || session.suspected || session.life === null) continue;
      if (session.lastHeardMs > silentSinceMs) continue;
      session.suspected = true;
      suspect(session.life, `no sign of life for ${Math.round(performance.now() - session.lastHeardMs)} ms`);
    }
  }, livenessMs / HEARTBEATS_PER_LIVENESS);

  function stop(reason: string): void {
    tell({ type: 'stopping', reason });
    step({ type: 'stop', reason });
  }

  const server = await startControlServer({
    address: options.address ?? { host: '127.0.0.1', port: 0 },
    accept,
    health: () => ({ status: 'ok', runId, workers: byWorker.size, started: startedAtMs !== null }),
  }).catch((error: unknown) => {
    clearInterval(watch);
    throw error;
  });

  return {
    address: server.address,
    url: `ws://${server.address.host}:${server.address.port}`,
    ended,
    view: () => core.view(),
    stop,
    async close() {
      clearInterval(watch);
      if (timer !== null) clearTimeout(timer);
      if (durationTimer !== null) clearTimeout(durationTimer);
      await server.close();
    },
  };
}
