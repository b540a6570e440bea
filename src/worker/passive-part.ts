/**
 * How the comm thread takes part in groups while the training thread computes (algorithms.md 6): with the replica published
 * last (AD-PSGD, odd workers), or with the gradients that have added up (eager-reduce).
 */
import { createSendBuffer, MISSED_ROUNDS_MAX } from '../collective/kernel/send-buffer.js';
import type { ReplicaState } from '../collective/task.js';
import type { Progress } from '../core/group.js';
import type { GroupMessage } from '../wire/messages.js';
import type { FromCommThread, PassiveMessage, PassiveRole } from './thread-messages.js';
import { createTurns, type Turns } from './turns.js';

export interface PassivePart {
  /** The run starts; where this worker's vector lies. */
  start(state: ReplicaState): void;
  /** Resolves when a collective may read `input`. */
  begin(): Promise<void>;
  /** `output` holds the result of the collective begun last. */
  committed(message: GroupMessage): void;
  /** The collective begun last has changed nothing. */
  aborted(): void;
  /** Resolves when `input` holds the replica for the final average. */
  beginFinal(): Promise<void>;
  accept(message: PassiveMessage): void;
}

export interface PassivePartOptions {
  readonly input: Float32Array;
  readonly output: Float32Array;
  /** What the training thread hands over. */
  readonly handover: Float32Array;
  post(message: FromCommThread): void;
  /** What joiners get from now on. */
  serve(state: ReplicaState): void;
  /** Sends the READY of what was published. */
  sendReady(message: Extract<PassiveMessage, { type: 'publish' }>): void;
}

export function createPassivePart(role: PassiveRole, options: PassivePartOptions): PassivePart {
  return role === 'everybody' ? createRoundPart(options) : createPublishedReplica(options);
}

/** A message that only says whose turn it is, handled. */
function onTurn(message: PassiveMessage, turns: Turns, held: () => FromCommThread, options: PassivePartOptions): void {
  if (message.type === 'hold') void turns.take().then(() => options.post(held()));
  if (message.type === 'letGo') turns.give();
}

/** `input` is the published replica; averages replace it. */
function createPublishedReplica(options: PassivePartOptions): PassivePart {
  const { input, output, handover } = options;
  const turns = createTurns();
  let k = 0;
  let progress: Progress | null = null;

  function publish(values: Float32Array, newK: number): void {
    if (values !== input) input.set(values);
    k = newK;
    options.serve({ k, values: input });
  }

  return {
    start: (state) => publish(state.values, state.k),
    begin: () => turns.take(),
    committed(message) {
      ({ progress } = message);
      publish(output, Math.max(k, message.kMax));
      turns.give();
    },
    aborted: () => turns.give(),
    // No step follows: nobody else has the turn.
    beginFinal: () => Promise.resolve(),
    accept(message) {
      onTurn(message, turns, () => ({ type: 'held', k, progress }), options);
      if (message.type !== 'publish') return;
      publish(handover, message.k);
      turns.give();
      options.sendReady(message);
    },
  };
}

interface ResultSlot {
  readonly index: number;
  readonly sum: Float32Array;
}

/** Gradients add up until a round takes them; the rounds' sums wait for the training thread. */
function createRoundPart(options: PassivePartOptions): PassivePart {
  const { input, output, handover, post } = options;
  const turns = createTurns();
  const buffer = createSendBuffer(input.length);
  const slots: ResultSlot[] = [];
  const free: ResultSlot[] = [];
  let wake: (() => void) | null = null;
  let offered: (() => void) | null = null;
  let k = 0;
  let progress: Progress | null = null;

  async function takeSlot(): Promise<void> {
    if (free.length > 0) return;
    if (slots.length < MISSED_ROUNDS_MAX) {
      const memory = new SharedArrayBuffer(input.byteLength);
      const slot = { index: slots.length, sum: new Float32Array(memory) };
      slots.push(slot);
      free.push(slot);
      return;
    }
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }

  return {
    start: (state) => {
      ({ k } = state);
    },
    async begin() {
      await turns.take();
      await takeSlot();
      buffer.takeInto(input);
    },
    committed(message) {
      const slot = free.pop() as ResultSlot;
      slot.sum.set(output);
      ({ kMax: k, progress } = message);
      post({ type: 'round', slot: slot.index, sum: slot.sum, k, progress });
      turns.give();
    },
    aborted() {
      buffer.add(input);
      turns.give();
    },
    async beginFinal() {
      post({ type: 'finalDue' });
      await new Promise<void>((resolve) => {
        offered = resolve;
      });
      input.set(handover);
    },
    accept(message) {
      onTurn(message, turns, () => ({ type: 'held', k, progress }), options);
      switch (message.type) {
        case 'publish':
          buffer.add(handover);
          options.sendReady(message);
          return post({ type: 'published' });
        case 'applied':
          free.push(slots[message.slot] as ResultSlot);
          wake?.();
          wake = null;
          return;
        case 'offer':
          offered?.();
          offered = null;
          return;
        default:
      }
    },
  };
}
