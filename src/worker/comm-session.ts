/**
 * The comm thread's work: the control session with the controller and this worker's side of every collective, while
 * the training thread computes. Follows algorithms.md 2 (steps 3 to 6) and 3.3 (abort, done, state transfer).
 */
import { hostname } from 'node:os';
import { assert, assertPresent } from '../base/assert.js';
import { type ErrorCode, ERROR_CODES, messageOf, PreduceError } from '../base/errors.js';
import type { GroupId } from '../base/ids.js';
import { createCommunicator } from '../collective/communicator.js';
import type { CollectiveTask, Communicator, ReplicaState } from '../collective/task.js';
import { planServer } from '../collective/plan/server.js';
import { openVectorMemory, type VectorMemory } from '../collective/kernel/vector-memory.js';
import type { Progress } from '../core/group.js';
import { createTcpTransport } from '../transport/tcp.js';
import { HEARTBEATS_PER_LIVENESS } from '../wire/limits.js';
import type { ControllerMessage, GroupMessage, Peer, WorkerMessage } from '../wire/messages.js';
import { failedMessage } from './failure.js';
import { keepControl, type LastingControl } from './lasting-control.js';
import { createPassivePart, type PassivePart } from './passive-part.js';
import { createStanding } from './standing.js';
import type {
  CommThreadOptions,
  FromCommThread,
  PassiveRole,
  ReadyStep,
  SharedVectors,
  ToCommThread,
} from './thread-messages.js';

export interface CommSession {
  /** Takes a message of the training thread. What goes wrong is posted as `failed`. */
  accept(message: ToCommThread): void;
}

/** The vectors, as this thread sees them. */
type HeldVectors = Pick<VectorMemory, 'input' | 'output' | 'scratch'> & Pick<SharedVectors, 'stateSlots' | 'handover'>;

interface RunningGroup {
  readonly id: GroupId;
  readonly abort: AbortController;
}

/** Whom a group's collective runs with, and by which plan: servers are the last of the members. */
function participants(
  { collective, members, servers = [] }: GroupMessage,
  length: number,
  self: number | undefined,
): Pick<CollectiveTask, 'collective' | 'members'> {
  if (collective !== 'server') return { collective, members };
  const rank = members.findIndex(({ worker }) => worker === self);
  return {
    collective: planServer({ rank, workers: members.length, servers: servers.length, length }),
    members: [...members, ...servers],
  };
}

/** Why this member gives a group up, and who is to blame where somebody moved nothing. */
function whyAborted(error: unknown): { readonly reason: string; readonly stalled?: number } {
  const reason = messageOf(error);
  const worker = error instanceof PreduceError && error.code === 'timeout' ? error.details['worker'] : undefined;
  return typeof worker === 'number' ? { reason, stalled: worker } : { reason };
}

const CLOSED = { reason: 'closed' };

interface Habits {
  readonly restores: boolean;
  readonly keepsCheckpoints: boolean;
  readonly passive: PassiveRole | null;
  readonly trainsAlone: boolean;
}

/** This worker's life, as `joined` told. */
type OwnLife = Pick<Extract<ControllerMessage, { type: 'joined' }>, 'worker' | 'incarnation' | 'secret'>;

/** Carries on one worker's session until it is closed; `post` tells the training thread, `onEnd` that nothing is left open. */
export async function startCommSession(
  options: CommThreadOptions,
  post: (message: FromCommThread) => void,
  onEnd: () => void,
): Promise<CommSession> {
  let communicator: Communicator | null = null;
  let vectors: HeldVectors | null = null;
  let self: OwnLife | null = null;
  let snapshot: ReplicaState | null = null;
  let running: RunningGroup | null = null;
  /** The collective, or the fetching of the model, that runs or ran last. */
  let activity: Promise<void> = Promise.resolve();
  /** Ends fetching the model. */
  let fetching: AbortController | null = null;
  let leaving = false;
  let habits: Habits = { restores: false, keepsCheckpoints: false, passive: null, trainsAlone: false };
  const standing = createStanding();
  /** Null: this worker waits for its groups. */
  let passive: PassivePart | null = null;
  let readySinceMs = 0;
  /** The run's liveness time-out; `welcome` tells. */
  let livenessMs = 0;
  /** Data connections are encrypted: `welcome` tells, before anybody joins. */
  let encrypts = false;
  let ended = false;
  const ending = new AbortController();

  const control: LastingControl = await keepControl(
    { ...options, role: 'worker' },
    {
      onMessage: (message) => onControllerMessage(message),
      onLost,
      settled: () => activity,
      resume,
      onClose: (error) => end(error),
    },
  );

  /** The group is lost, as its other members are told, and the own vector is what it was; training goes on where it can. */
  function onLost(): boolean {
    if (self?.secret === undefined) return false;
    if (leaving) leave();
    fetching?.abort();
    running?.abort.abort(new PreduceError('aborted', 'the connection to the controller is lost'));
    goOnAlone();
    return true;
  }

  function resume(): Extract<WorkerMessage, { type: 'resume' }> {
    const { worker, incarnation, secret } = assertPresent(self, 'a life');
    const { address } = assertPresent(communicator, 'communicator');
    const life = { worker, incarnation, secret: assertPresent(secret, 'its secret') };
    return { type: 'resume', ...life, address, pid: process.pid, hostname: hostname(), ...standing.facts };
  }

  /** Answers a READY that nobody hears, or that was lost, if this worker may take steps of its own. */
  function goOnAlone(): void {
    const { ready } = standing.facts;
    if (control.connected || ready === null || running !== null || !habits.trainsAlone || passive !== null) return;
    keepOwn(ready.k, standing.progress);
  }

  function leave(): void {
    post({ type: 'left' });
    end(null, { reason: 'left the run' });
  }

  /** `failure`: null where it ends as it should, for `reason`. */
  function end(failure: unknown, { reason, rejoin = false }: { reason: string; rejoin?: boolean } = CLOSED): void {
    if (ended) return;
    ended = true;
    ending.abort();
    running?.abort.abort();
    control.close();
    void Promise.resolve(communicator?.close()).finally(() => {
      post(failure === null ? { type: 'closed', reason, rejoin } : failedMessage(failure));
      onEnd();
    });
  }

  async function join(message: Extract<ToCommThread, { type: 'join' }>): Promise<void> {
    const memory = openVectorMemory(message.vectors.exchange);
    habits = message;
    vectors = { ...memory, stateSlots: message.vectors.stateSlots, handover: message.vectors.handover };
    communicator = await createCommunicator(
      {
        listen: { host: control.localHost, port: 0 },
        serve: () => snapshot,
        kernel: await memory.loadKernel(),
        stallMs: livenessMs,
      },
      { transport: createTcpTransport({ encrypts }) },
    );
    control.send({
      type: 'join',
      layout: message.layout,
      exchangeLength: message.exchangeLength,
      stateLength: message.stateLength,
      address: communicator.address,
      worker: message.worker,
      pid: process.pid,
      hostname: hostname(),
    });
  }

  /** Where this worker's replica lies when a donor has sent it, or before the first step. */
  function firstState(held: HeldVectors, fetched: boolean): Float32Array {
    if (held.stateSlots !== null) return held.stateSlots[0];
    return fetched ? held.output : held.input;
  }

  /** The state that the training thread wrote is the run's, or this worker's of before. */
  function holdOwnState(k: number): void {
    snapshot = { k, values: firstState(assertPresent(vectors, 'vectors'), false) };
    standing.synced(k);
    post({ type: 'synced', k, fetched: false });
    control.send({ type: 'synced', k });
  }

  async function fetchReplica(donor: Peer): Promise<void> {
    const into = firstState(assertPresent(vectors, 'vectors'), true);
    fetching = new AbortController();
    try {
      const { k } = await assertPresent(communicator, 'communicator').fetchState(donor, into, {
        signal: AbortSignal.any([ending.signal, fetching.signal]),
      });
      snapshot = { k, values: into };
      standing.synced(k);
      post({ type: 'synced', k, fetched: true });
      control.send({ type: 'synced', k });
    } catch (error) {
      if (!ended) control.send({ type: 'transferFailed', reason: messageOf(error) });
    }
  }

  async function reduceWithGroup(message: GroupMessage): Promise<void> {
    const held = assertPresent(vectors, 'vectors');
    assert(running === null, `group ${message.group} came while another is running`);
    const id = message.group as GroupId;
    const current: RunningGroup = { id, abort: new AbortController() };
    running = current;
    const part = passive;
    const isStep = message.kind === 'step';
    if (isStep) await part?.begin();
    else await part?.beginFinal();
    const startedMs = performance.now();
    try {
      const rank = message.members.findIndex((member) => member.worker === self?.worker);
      const { bytesSent, clipped } = await assertPresent(communicator, 'communicator').reduce({
        group: id,
        ...participants(message, held.input.length, self?.worker),
        rank,
        clips: message.robust === 'clip',
        weights: message.members.map((member) => member.weight),
        input: held.input,
        output: held.output,
        scratch: held.scratch,
        signal: current.abort.signal,
      });
      running = null;
      standing.averaged(message.kMax);
      const reduceMs = performance.now() - startedMs;
      // All know it; one tells.
      const far = rank > 0 ? [] : clipped.flatMap((j) => message.members[j]?.worker ?? []);
      control.send({
        type: 'done',
        group: message.group,
        bytesSent,
        reduceMs,
        ...(far.length === 0 ? {} : { clipped: far }),
      });
      if (part !== null && isStep) part.committed(message);
      else onAveraged(message, startedMs - readySinceMs, reduceMs);
    } catch (error) {
      running = null;
      if (isStep) part?.aborted();
      if (ended) return;
      control.send({ type: 'aborted', group: message.group, ...whyAborted(error) });
      goOnAlone();
    }
  }

  function onAveraged(message: GroupMessage, waitMs: number, reduceMs: number): void {
    const held = assertPresent(vectors, 'vectors');
    const final = message.kind === 'final';
    if (held.stateSlots === null) {
      snapshot = { k: message.kMax, values: held.output };
    } else if (final) {
      // The slot announced with `finished` begins with the replica, which the final average replaces.
      const slot = assertPresent(snapshot, 'snapshot').values;
      slot.set(held.output);
      snapshot = { k: message.kMax, values: slot };
    }
    post({
      type: 'averaged',
      group: message.group as GroupId,
      final,
      k: message.kMax,
      progress: message.progress,
      waitMs,
      reduceMs,
    });
  }

  function sendReady({ k, finite, slot, report }: ReadyStep): void {
    const { stateSlots } = assertPresent(vectors, 'vectors');
    readySinceMs = performance.now();
    // What joiners get while this worker is queued: for an exchanged gradient the replica from before this step.
    if (stateSlots !== null) snapshot = { k: k - 1, values: stateSlots[slot] };
    standing.ready({ k, finite, report });
    // A passive member goes on at once.
    if (habits.passive === 'odd-workers' && passive !== null) standing.reached(k);
    control.send({ type: 'ready', k, finite, steps: 1, ...report });
    goOnAlone();
  }

  function choosePassivePart(worker: number): PassivePart | null {
    const { passive: role } = habits;
    if (role === null || (role === 'odd-workers' && worker % 2 === 0)) return null;
    const { input, output, handover } = assertPresent(vectors, 'vectors');
    return createPassivePart(role, {
      input,
      output,
      handover: assertPresent(handover, 'a vector to hand over'),
      post,
      sendReady,
      serve: (state) => {
        snapshot = state;
      },
    });
  }

  /** There is nobody to average with. */
  function keepOwn(k: number, progress: Progress): void {
    const held = assertPresent(vectors, 'vectors');
    held.output.set(held.input);
    if (held.stateSlots === null) snapshot = { k, values: held.output };
    standing.reached(k);
    post({ type: 'alone', k, progress, waitMs: performance.now() - readySinceMs });
  }

  function onControllerMessage(message: ControllerMessage): void {
    if ('progress' in message) standing.progressed(message.progress);
    switch (message.type) {
      case 'welcome':
        livenessMs = message.heartbeatMs * HEARTBEATS_PER_LIVENESS;
        encrypts = message.encrypts === true;
        post({ type: 'welcome', runId: message.runId, config: message.config });
        return;
      case 'refused': {
        const code = ERROR_CODES.find((known) => known === message.code) ?? ('refused' satisfies ErrorCode);
        end(new PreduceError(code, message.message));
        return;
      }
      case 'joined':
        self = message;
        assertPresent(communicator, 'communicator').setIdentity({ role: 'worker', ...message });
        passive = choosePassivePart(message.worker);
        post({ type: 'joined', worker: message.worker, incarnation: message.incarnation });
        return;
      case 'seed':
        if (habits.restores) post({ type: 'restore' });
        else holdOwnState(0);
        return;
      case 'transfer':
        activity = fetchReplica(message.donor).catch(end);
        return;
      case 'group':
        activity = reduceWithGroup(message).catch(end);
        return;
      case 'abort':
        if (running?.id === message.group) running.abort.abort(new PreduceError('aborted', message.reason));
        else communicator?.discard(message.group as GroupId);
        return;
      case 'release':
        keepOwn(message.k, message.progress);
        return;
      case 'resumed':
        return;
      case 'close':
        end(null, { reason: message.reason, rejoin: message.rejoin === true });
        return;
      case 'left':
        return leave();
      case 'checkpoint': {
        const { checkpoint } = message;
        if (habits.keepsCheckpoints) post(message);
        else control.send({ type: 'checkpointFailed', checkpoint, reason: 'this worker keeps none of its state' });
        return;
      }
      case 'start':
        standing.started();
        passive?.start(assertPresent(snapshot, 'snapshot'));
        post(message);
        return;
      case 'lease':
        standing.leased(message.lease.id);
        post(message);
        return;
      case 'finish':
        post(message);
        return;
      case 'shard':
        end(new PreduceError('bad-message', 'the controller sent "shard" to a worker: only a server takes it'));
        return;
      case 'evaluate':
        end(new PreduceError('bad-message', 'the controller sent "evaluate" to a worker: only an evaluator takes it'));
        return;
      default:
        message satisfies never;
    }
  }

  /** What the training thread asks for may be more than the protocol takes: that ends the session, with the reason. */
  function accept(message: ToCommThread): void {
    if (ended) return;
    try {
      take(message);
    } catch (error) {
      if (!(error instanceof PreduceError)) throw error;
      end(error);
    }
  }

  function take(message: ToCommThread): void {
    switch (message.type) {
      case 'join':
        join(message).catch(end);
        return;
      case 'ready': {
        const held = assertPresent(vectors, 'vectors');
        if (held.stateSlots === null) snapshot = { k: message.k, values: held.input };
        sendReady(message);
        return;
      }
      case 'finished': {
        const held = assertPresent(vectors, 'vectors');
        readySinceMs = performance.now();
        snapshot = { k: message.k, values: held.stateSlots === null ? held.input : held.stateSlots[message.slot] };
        standing.finished();
        control.send({ type: 'finished' });
        return;
      }
      case 'restored':
        return holdOwnState(message.k);
      case 'checkpointed':
      case 'checkpointFailed':
        control.send(message);
        return;
      case 'leaseRequest':
        standing.leaseRequested(message.finished);
        control.send({ type: 'leaseRequest', finished: message.finished });
        return;
      case 'hold':
      case 'letGo':
      case 'publish':
      case 'applied':
      case 'offer':
        assertPresent(passive, 'a passive part').accept(message);
        return;
      case 'leave':
        leaving = true;
        if (control.connected) control.send({ type: 'leave' });
        else leave();
        return;
      case 'log':
        control.send({ type: 'log', values: message.values });
        return;
      default:
        message satisfies never;
    }
  }

  return { accept };
}
