/**
 * The comm thread's work: the control session with the controller and this worker's side of every collective, while
 * the training thread computes. Follows algorithms.md 2 (steps 3 to 6) and 3.3 (abort, done, state transfer).
 */
import { assert, assertPresent } from '../base/assert.js';
import { type ErrorCode, ERROR_CODES, messageOf, PreduceError } from '../base/errors.js';
import type { GroupId } from '../base/ids.js';
import { createCommunicator } from '../collective/communicator.js';
import type { CollectiveTask, Communicator, ReplicaState } from '../collective/task.js';
import { planServer } from '../collective/plan/server.js';
import { openVectorMemory, type VectorMemory } from '../collective/kernel/vector-memory.js';
import { createTcpTransport } from '../transport/tcp.js';
import { HEARTBEATS_PER_LIVENESS } from '../wire/limits.js';
import type { ControllerMessage, GroupMessage, Peer } from '../wire/messages.js';
import { connectControl, type ControlConnection } from './control-connection.js';
import { failedMessage } from './failure.js';
import { createPassivePart, type PassivePart } from './passive-part.js';
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
}

/** Carries on one worker's session until it is closed; `post` tells the training thread, `onEnd` that nothing is left open. */
export async function startCommSession(
  options: CommThreadOptions,
  post: (message: FromCommThread) => void,
  onEnd: () => void,
): Promise<CommSession> {
  let communicator: Communicator | null = null;
  let vectors: HeldVectors | null = null;
  let self: { worker: number; incarnation: number } | null = null;
  let snapshot: ReplicaState | null = null;
  let running: RunningGroup | null = null;
  let heartbeat: NodeJS.Timeout | null = null;
  let habits: Habits = { restores: false, keepsCheckpoints: false, passive: null };
  /** Null: this worker waits for its groups. */
  let passive: PassivePart | null = null;
  let readySinceMs = 0;
  /** The run's liveness time-out; `welcome` tells. */
  let livenessMs = 0;
  /** Data connections are encrypted: `welcome` tells, before anybody joins. */
  let encrypts = false;
  let ended = false;
  const ending = new AbortController();

  const control: ControlConnection = await connectControl(
    { ...options, role: 'worker' },
    {
      onMessage: (message) => onControllerMessage(message),
      onClose: (error) => end(error),
    },
  );

  /** `failure`: null where it ends as it should, for `reason`. */
  function end(failure: unknown, { reason, rejoin = false }: { reason: string; rejoin?: boolean } = CLOSED): void {
    if (ended) return;
    ended = true;
    if (heartbeat !== null) clearInterval(heartbeat);
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
      hostname: (await import('node:os')).hostname(),
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
    post({ type: 'synced', k, fetched: false });
    control.send({ type: 'synced', k });
  }

  async function fetchReplica(donor: Peer): Promise<void> {
    const into = firstState(assertPresent(vectors, 'vectors'), true);
    try {
      const { k } = await assertPresent(communicator, 'communicator').fetchState(donor, into, {
        signal: ending.signal,
      });
      snapshot = { k, values: into };
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
      if (!ended) control.send({ type: 'aborted', group: message.group, ...whyAborted(error) });
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
    control.send({ type: 'ready', k, finite, steps: 1, ...report });
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

  function onReleased(message: Extract<ControllerMessage, { type: 'release' }>): void {
    const held = assertPresent(vectors, 'vectors');
    held.output.set(held.input);
    if (held.stateSlots === null) snapshot = { k: message.k, values: held.output };
    post({ type: 'alone', k: message.k, progress: message.progress, waitMs: performance.now() - readySinceMs });
  }

  function onControllerMessage(message: ControllerMessage): void {
    switch (message.type) {
      case 'welcome':
        heartbeat = setInterval(() => control.send({ type: 'heartbeat' }), message.heartbeatMs);
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
        fetchReplica(message.donor).catch(end);
        return;
      case 'group':
        reduceWithGroup(message).catch(end);
        return;
      case 'abort':
        if (running?.id === message.group) running.abort.abort(new PreduceError('aborted', message.reason));
        else communicator?.discard(message.group as GroupId);
        return;
      case 'release':
        onReleased(message);
        return;
      case 'close':
        end(null, { reason: message.reason, rejoin: message.rejoin === true });
        return;
      case 'left':
        post({ type: 'left' });
        end(null, { reason: 'left the run' });
        return;
      case 'checkpoint': {
        const { checkpoint } = message;
        if (habits.keepsCheckpoints) post(message);
        else control.send({ type: 'checkpointFailed', checkpoint, reason: 'this worker keeps none of its state' });
        return;
      }
      case 'start':
        passive?.start(assertPresent(snapshot, 'snapshot'));
        post(message);
        return;
      case 'lease':
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
        control.send({ type: 'leave' });
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
