/**
 * One worker's part in a run, as the training thread sees it: join, exchange after each step, take leases, finish.
 * `joinRun` is the public face; the training loop uses this one, because some strategies exchange gradients.
 */
import { assert } from '../base/assert.js';
import type { ReduceKernel } from '../collective/kernel/reduce-kernel.js';
import { createVectorMemory, type VectorMemory } from '../collective/kernel/vector-memory.js';
import type { Lease, Progress } from '../core/group.js';
import { layoutLength } from '../wire/layout.js';
import type { Layout } from '../wire/messages.js';
import { checkLogged } from './check-logged.js';
import { type CommClient, startCommClient } from './comm-client.js';
import type { CheckpointAnswer, FromCommThread, PassiveRole, SharedVectors, StepReport } from './thread-messages.js';
import { trustOf } from './trust.js';

export interface ConnectOptions {
  /** ws:// or wss:// address of the controller. */
  readonly controller: string;
  readonly token?: string | null;
  /**
   * Of a controller at a wss:// address: the certificate of the authority that signed its own, in PEM. Default: those that the
   * system trusts.
   */
  readonly tlsCa?: string | null;
  /** Lets the token travel where others can read it: to a ws:// address beyond this machine. Default false. */
  readonly insecure?: boolean;
  /** How long to keep trying while no controller answers, in ms. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /**
   * How long this worker goes on alone while the controller is gone, in ms, before it stops with `controller-lost`; `never`: it does
   * not stop. Default: 120 liveness time-outs of the run, 10 minutes.
   */
  readonly controllerTimeoutMs?: number | 'never';
}

export interface JoinOptions {
  readonly layout: Layout;
  /** Values exchanged after each step; the replica begins with as many. Default: the layout's length. */
  readonly exchangeLength?: number;
  /** Length of the state that joiners need, where that is more than what is exchanged; null: the exchanged vector is the state. */
  readonly stateLength?: number | null;
  /** Number to ask for; null: the next free one. */
  readonly worker?: number | null;
  /** Writes the initial state (replica first), length `stateLength ?? exchangeLength`. */
  readonly writeState: (into: Float32Array) => void;
  /** Called instead when the state came from a donor. */
  readonly readState: (from: Float32Array, k: number) => void;
  /** In a run that is resumed: makes this worker's state that of the checkpoint, and gives its k. `writeState` follows. */
  readonly restore?: (worker: number) => Promise<number>;
  /** Whether this worker answers the checkpoints that are asked for; if not, that is said for it. Default false. */
  readonly keepsCheckpoints?: boolean;
  /** Whether this worker takes local steps while the controller is gone; else it waits. Default true. */
  readonly trainsAlone?: boolean;
  /** How this worker takes part in groups while it computes; null (default): it does not. */
  readonly passive?: PassiveOptions | null;
}

export interface PassiveOptions {
  readonly role: PassiveRole;
  /** `everybody`: takes a round's result into the replica. */
  readonly applyRound: (round: {
    readonly average: Float32Array;
    readonly k: number;
    readonly progress: Progress;
  }) => void;
  /** `everybody`: writes the replica for the final average, all rounds applied. */
  readonly writeFinal: (into: Float32Array) => void;
}

/** For a worker that takes part in groups passively. */
export interface PassiveRun {
  /** Write what is published here. */
  readonly handover: Float32Array;
  /**
   * Between this and `publish` or `letGo` no group changes anything. `input` holds the published replica, whose k is the answer; of
   * rounds, all that there were have been applied.
   */
  hold(): Promise<number>;
  letGo(): void;
  /** Tells of a step: `everybody` until a round that contains it, or came meanwhile, is applied; odd workers go on at once. */
  publish(step: ExchangeInput): Promise<void>;
}

/** A checkpoint that the controller waits for. */
export interface CheckpointRequest {
  readonly checkpoint: number;
  /** It is of a moment between two steps at which k is at least this, or of the last one. */
  readonly fromK: number;
}

/** How an exchange ended. */
export interface ExchangeOutcome {
  /** `averaged`: `output` holds the group's average; `alone`: it holds this worker's own vector. */
  readonly type: 'averaged' | 'alone';
  /** Iteration number to go on from. */
  readonly k: number;
  readonly progress: Progress;
  /** From READY to the group, and the collective itself; in ms. */
  readonly waitMs: number;
  readonly reduceMs: number;
}

export interface ExchangeInput {
  /** This worker's iteration number, the step just taken included. */
  readonly k: number;
  readonly finite: boolean;
  readonly report: StepReport;
  /** Writes the joiners' state; only where `stateLength` was given. */
  readonly writeState?: (into: Float32Array) => void;
}

export interface WorkerRun {
  readonly worker: number;
  /** Write what is to be exchanged here before `exchange`; length `exchangeLength`. */
  readonly input: Float32Array;
  /** The NaN guard's finding about `input`. */
  isInputFinite(): boolean;
  /** What `exchange` and `finish` gave; valid until the next call. */
  readonly output: Float32Array;
  /** True when no further step shall be taken. */
  readonly done: boolean;
  /** Iteration number that the model came with. */
  readonly initialK: number;
  /** Global progress, as of the last answer of the controller. */
  readonly progress: Progress;
  /** READY, then the group's collective. Throws `run-ended`, `connection-lost`. */
  exchange(step: ExchangeInput): Promise<ExchangeOutcome>;
  /** Null where this worker waits for its groups. */
  readonly passive: PassiveRun | null;
  /**
   * The next stretch of the epoch's permutation, `finished` being complete; null when there is no more work. `atRest` is
   * called when a checkpoint is asked for while there is none; it must answer.
   */
  lease(finished: Lease | null, atRest?: () => Promise<void>): Promise<Lease | null>;
  /** The newest checkpoint that was asked for and not answered; null: none. */
  readonly checkpointRequest: CheckpointRequest | null;
  /** To be called between two steps: says that the state of this moment is kept, or why it is not. */
  answerCheckpoint(answer: CheckpointAnswer): void;
  /** Throws `bad-option` for names that are too long and values that are no numbers. */
  log(values: Readonly<Record<string, number>>): void;
  /** Leaves without the final average. */
  leave(): Promise<void>;
  /** Waits for the other workers, then for the final average in `output`. `input` must hold the replica. */
  finish(k: number, writeState?: (into: Float32Array) => void): Promise<ExchangeOutcome>;
  /** Resolves when the controller has let this worker go. */
  readonly closed: Promise<void>;
  /** Drops everything at once; peers see a lost worker. */
  terminate(): Promise<void>;
}

export interface ConnectedWorker {
  readonly runId: string;
  /** What the controller says the run is made of. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Joins; resolves when training may begin. Throws `refused`, `bad-layout`. */
  join(options: JoinOptions): Promise<WorkerRun>;
  terminate(): Promise<void>;
}

function sharedVector(length: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(4 * length));
}

/** Reaches the controller. Throws `controller-unreachable`, `untrusted`, `version-mismatch`, `refused`. */
export async function connectWorker(options: ConnectOptions): Promise<ConnectedWorker> {
  const client = startCommClient({
    controller: options.controller,
    token: options.token ?? null,
    trust: trustOf('authority', options.tlsCa ?? null),
    insecure: options.insecure ?? false,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    controllerTimeoutMs: options.controllerTimeoutMs ?? 'auto',
  });
  const welcome = await client.next('welcome');
  return {
    runId: welcome.runId,
    config: welcome.config,
    join: (joinOptions) => join(client, joinOptions),
    terminate: () => client.terminate(),
  };
}

async function join(client: CommClient, options: JoinOptions): Promise<WorkerRun> {
  const exchangeLength = options.exchangeLength ?? layoutLength(options.layout);
  const stateLength = options.stateLength ?? null;
  const passive = options.passive ?? null;
  const memory = createVectorMemory(exchangeLength);
  // Loads while the model comes.
  const loading = memory.loadKernel();
  const vectors: SharedVectors = {
    exchange: memory.shared,
    stateSlots: stateLength === null ? null : [sharedVector(stateLength), sharedVector(stateLength)],
    handover: passive === null ? null : sharedVector(exchangeLength),
  };
  options.writeState(vectors.stateSlots === null ? memory.input : vectors.stateSlots[0]);

  let done = false;
  let request: CheckpointRequest | null = null;
  client.observe((message) => {
    if (message.type === 'checkpoint') request = message;
    if (message.type === 'finish' || message.type === 'closed' || message.type === 'failed') done = true;
  });
  client.send({
    type: 'join',
    layout: options.layout,
    exchangeLength,
    stateLength: stateLength ?? exchangeLength,
    worker: options.worker ?? null,
    vectors,
    restores: options.restore !== undefined,
    keepsCheckpoints: options.keepsCheckpoints ?? false,
    passive: passive?.role ?? null,
    trainsAlone: options.trainsAlone ?? true,
  });
  const { worker } = await client.next('joined');
  let synced = await client.next('synced', 'restore');
  if (synced.type === 'restore') {
    const { restore } = options;
    assert(restore !== undefined, 'asked to restore a state that nobody said is there');
    const k = await restore(worker);
    options.writeState(vectors.stateSlots === null ? memory.input : vectors.stateSlots[0]);
    client.send({ type: 'restored', k });
    synced = await client.next('synced');
  }
  if (synced.fetched) {
    options.readState(vectors.stateSlots === null ? memory.output : vectors.stateSlots[0], synced.k);
  }
  await client.next('start');
  const kernel = await loading;
  return createWorkerRun(client, {
    worker,
    initialK: synced.k,
    memory,
    kernel,
    vectors,
    passive: passive?.role === 'odd-workers' && worker % 2 === 0 ? null : passive,
    isDone: () => done,
    lastRequest: () => request,
  });
}

interface JoinedWorker {
  readonly worker: number;
  readonly initialK: number;
  readonly memory: VectorMemory;
  readonly kernel: ReduceKernel;
  readonly vectors: SharedVectors;
  readonly passive: PassiveOptions | null;
  isDone(): boolean;
  /** The newest checkpoint that was asked for, if any. */
  lastRequest(): CheckpointRequest | null;
}

function createWorkerRun(client: CommClient, joined: JoinedWorker): WorkerRun {
  const { input, output } = joined.memory;
  const { stateSlots, handover } = joined.vectors;
  let announcedSlot: 0 | 1 = 0;
  let answered = 0;
  let progress: Progress = { samples: 0, localSteps: 0 };

  function checkpointRequest(): CheckpointRequest | null {
    const request = joined.lastRequest();
    return request !== null && request.checkpoint > answered ? request : null;
  }

  /** The slot that the comm thread does not serve from, filled. */
  function fillSlot(writeState: ((into: Float32Array) => void) | undefined): 0 | 1 {
    if (stateSlots === null) return 0;
    assert(writeState !== undefined, 'a run with a state of its own needs writeState');
    const slot = announcedSlot === 0 ? 1 : 0;
    writeState(stateSlots[slot]);
    announcedSlot = slot;
    return slot;
  }

  let appliedK = joined.initialK;

  function applyRound({ slot, sum, k, progress: now }: Extract<FromCommThread, { type: 'round' }>): void {
    progress = now;
    appliedK = k;
    joined.passive?.applyRound({ average: sum, k, progress });
    client.send({ type: 'applied', slot });
  }

  function applyRounds(): void {
    for (let round = client.poll('round'); round !== null; round = client.poll('round')) applyRound(round);
  }

  function createPassiveRun(): PassiveRun | null {
    if (joined.passive === null || handover === null) return null;
    const { role } = joined.passive;
    return {
      handover,
      async hold() {
        client.send({ type: 'hold' });
        const answer = await client.next('held');
        progress = answer.progress ?? progress;
        applyRounds();
        return answer.k;
      },
      letGo: () => client.send({ type: 'letGo' }),
      async publish({ k, finite, report, writeState }) {
        client.send({ type: 'publish', k, finite, slot: fillSlot(writeState), report });
        if (role !== 'everybody') return;
        await client.next('published');
        applyRounds();
        while (appliedK < k) applyRound(await client.next('round'));
      },
    };
  }

  async function outcome(): Promise<ExchangeOutcome> {
    const answer = await client.next('averaged', 'alone', 'round', 'finalDue');
    if (answer.type === 'round') {
      applyRound(answer);
      return outcome();
    }
    if (answer.type === 'finalDue') {
      if (handover !== null) joined.passive?.writeFinal(handover);
      client.send({ type: 'offer' });
      return outcome();
    }
    progress = answer.progress ?? progress;
    return {
      type: answer.type,
      k: answer.k,
      progress,
      waitMs: answer.waitMs,
      reduceMs: answer.type === 'averaged' ? answer.reduceMs : 0,
    };
  }

  return {
    worker: joined.worker,
    isInputFinite: () => joined.kernel.isFinite(input),
    initialK: joined.initialK,
    get progress() {
      return progress;
    },
    input,
    output,
    passive: createPassiveRun(),
    get done() {
      return joined.isDone();
    },
    exchange(step) {
      const slot = fillSlot(step.writeState);
      client.send({ type: 'ready', k: step.k, finite: step.finite, slot, report: step.report });
      return outcome();
    },
    async lease(finished, atRest) {
      client.send({ type: 'leaseRequest', finished: finished?.id ?? null });
      while (!joined.isDone()) {
        if (atRest !== undefined && checkpointRequest() !== null) {
          await atRest();
          continue;
        }
        const answer = await client.next('lease', 'finish', 'checkpoint', 'round');
        if (answer.type === 'round') applyRound(answer);
        if (answer.type !== 'lease') continue;
        progress = answer.progress;
        return answer.lease;
      }
      return null;
    },
    get checkpointRequest() {
      return checkpointRequest();
    },
    answerCheckpoint(answer) {
      answered = Math.max(answered, answer.checkpoint);
      client.send(answer);
    },
    log(values) {
      checkLogged(values);
      client.send({ type: 'log', values });
    },
    async leave() {
      client.send({ type: 'leave' });
      await client.ended;
    },
    finish(k, writeState) {
      client.send({ type: 'finished', k, slot: fillSlot(writeState) });
      return outcome();
    },
    closed: client.ended,
    terminate: () => client.terminate(),
  };
}
