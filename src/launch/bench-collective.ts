/**
 * How long one collective takes between processes of this machine, end to end: the replica's copy into shared memory, the
 * collective, the copy out. Variants run in turn, within one call, so that a busy machine slows all of them.
 */
import { fileURLToPath } from 'node:url';
import { assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import { groupId } from '../base/ids.js';
import type { PlanName } from '../collective/plan/plan.js';
import { PLAN_NAMES } from '../collective/plan/plans.js';
import type { Address, Peer } from '../wire/messages.js';
import { type Child, describeExit, startChild } from './child-process.js';

export interface BenchVariant {
  readonly name: string;
  readonly collective: PlanName;
  readonly kernel: 'simd' | 'plain';
  readonly localSockets: boolean;
  readonly inPlace: boolean;
}

/** What is compared: how one plan is executed, or the plans. */
export type BenchSubject = PlanName | 'both';

const DEFAULT = { kernel: 'simd', localSockets: true, inPlace: true } as const;

/** What Preduce does, and what each of its parts is worth. */
const EXECUTIONS: readonly Omit<BenchVariant, 'collective'>[] = [
  { name: 'default', ...DEFAULT },
  { name: 'plain kernel', kernel: 'plain', localSockets: true, inPlace: true },
  { name: 'tcp', kernel: 'simd', localSockets: false, inPlace: true },
  { name: 'tcp, plain kernel', kernel: 'plain', localSockets: false, inPlace: true },
  { name: 'tcp, through buffers, plain kernel', kernel: 'plain', localSockets: false, inPlace: false },
];

/** The variants that tell about `subject`; the last is what the others are measured against. */
export function benchVariants(subject: BenchSubject): readonly BenchVariant[] {
  if (subject === 'both') return PLAN_NAMES.map((name) => ({ name, collective: name, ...DEFAULT }));
  return EXECUTIONS.map((execution) => ({ ...execution, collective: subject }));
}

export type BenchRequest =
  | {
      readonly type: 'setup';
      readonly rank: number;
      readonly length: number;
      readonly variants: readonly BenchVariant[];
    }
  | { readonly type: 'peers'; readonly peers: readonly (readonly Peer[])[] }
  | { readonly type: 'run'; readonly variant: number; readonly group: number };

export type BenchAnswer =
  | { readonly type: 'listening'; readonly kernel: string; readonly addresses: readonly Address[] }
  | { readonly type: 'ran'; readonly elapsedMs: number };

export interface BenchCollectiveOptions {
  /** Of the replica. */
  readonly bytes: number;
  readonly subject: BenchSubject;
  /** Members of the group. */
  readonly processes: number;
  /** Measured rounds of each variant. */
  readonly repeats: number;
  readonly signal?: AbortSignal;
}

export interface BenchResult {
  readonly variant: string;
  readonly bytes: number;
  readonly processes: number;
  readonly repeats: number;
  readonly medianMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** Median of the last variant divided by this one's. */
  readonly speedUp: number;
}

const WARM_UP_ROUNDS = 3;
const BYTES_PER_VALUE = Float32Array.BYTES_PER_ELEMENT;

type AnswerOf<K extends BenchAnswer['type']> = Extract<BenchAnswer, { type: K }>;

interface Member {
  /** Asks, and gives the answer. Rejects with `worker-failed` when the process ends before. */
  ask<K extends BenchAnswer['type']>(request: BenchRequest, type: K): Promise<AnswerOf<K>>;
  tell(request: BenchRequest): void;
}

function createMember(child: Child): Member {
  let receive: (answer: BenchAnswer) => void = () => undefined;
  child.onMessage((message) => receive(message as BenchAnswer));
  const failed = child.exited.then((exit): never => {
    throw new PreduceError('worker-failed', `${child.name} ended early: ${describeExit(exit)}`);
  });
  // At the end of the benchmark nobody waits for it.
  failed.catch(() => undefined);
  return {
    tell: (request) => child.send(request),
    ask<K extends BenchAnswer['type']>(request: BenchRequest, type: K) {
      const answer = new Promise<AnswerOf<K>>((resolve) => {
        receive = (message) => {
          if (message.type === type) resolve(message as AnswerOf<K>);
        };
      });
      child.send(request);
      return Promise.race([answer, failed]);
    },
  };
}

function sorted(values: readonly number[]): readonly number[] {
  return values.toSorted((a, b) => a - b);
}

/** One result per variant. Throws `worker-failed`, `aborted`. */
export async function benchCollective(options: BenchCollectiveOptions): Promise<readonly BenchResult[]> {
  const { bytes, processes, repeats, signal } = options;
  const variants = benchVariants(options.subject);
  const length = Math.ceil(bytes / BYTES_PER_VALUE);
  const script = fileURLToPath(new URL('./bench-collective-process.js', import.meta.url));
  const children = Array.from({ length: processes }, (_, rank) =>
    startChild({ name: `member ${rank}`, script, args: [] }),
  );
  const stop = (): void => {
    for (const child of children) child.kill('SIGKILL');
  };
  signal?.addEventListener('abort', stop);
  try {
    const members = children.map(createMember);
    const listening = await Promise.all(
      members.map((member, rank) => member.ask({ type: 'setup', rank, length, variants }, 'listening')),
    );
    const peers = variants.map((_, variant) =>
      listening.map(({ addresses }, worker): Peer => {
        const address = assertPresent(addresses[variant], 'an address per variant');
        return { worker, incarnation: 1, address };
      }),
    );
    for (const member of members) member.tell({ type: 'peers', peers });
    const timesMs = variants.map((): number[] => []);
    for (let round = 0; round < WARM_UP_ROUNDS + repeats; round += 1) {
      for (const [variant, times] of timesMs.entries()) {
        const group = groupId(1, round);
        const answers = await Promise.all(members.map((member) => member.ask({ type: 'run', variant, group }, 'ran')));
        if (round >= WARM_UP_ROUNDS) times.push(Math.max(...answers.map(({ elapsedMs }) => elapsedMs)));
      }
    }
    const medians = timesMs.map((times) => sorted(times)[Math.floor(times.length / 2)] ?? Number.NaN);
    const slowest = medians.at(-1) ?? Number.NaN;
    return variants.map(({ name }, i) => {
      const times = sorted(timesMs[i] ?? []);
      const medianMs = medians[i] ?? Number.NaN;
      return {
        variant: name,
        bytes: BYTES_PER_VALUE * length,
        processes,
        repeats,
        medianMs,
        minMs: times[0] ?? Number.NaN,
        maxMs: times.at(-1) ?? Number.NaN,
        speedUp: slowest / medianMs,
      };
    });
  } catch (error) {
    if (signal?.aborted === true) throw new PreduceError('aborted', 'interrupted', { cause: error });
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
    await Promise.all(children.map((child) => child.exited));
  }
}
