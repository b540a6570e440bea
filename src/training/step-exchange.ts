/**
 * What a worker does with each gradient, and when it may compute the next: the three ways in which strategies exchange
 * (algorithms.md 6).
 */
import type { PassiveOptions, PassiveRun, WorkerRun } from '../worker/worker-run.js';
import type { LocalRound } from './local-round.js';
import { createPublishingRule, type Published, writeHandover } from './passive-rule.js';
import type { Replica, ReplicaRule } from './replica-rule.js';

export interface StepExchange {
  /** Takes in a step's gradient; `samples` is the run's progress with it. */
  take(gradient: Float32Array, samples: number): void;
  /** Reports the round, and exchanges as the strategy has it. */
  exchange(round: LocalRound): Promise<void>;
  /** Calls `act` while the replica is what the controller knows it to be, and nobody changes it. */
  atPeace(act: () => Promise<void>): Promise<void>;
  /** Waits for the final average. */
  finish(): Promise<void>;
}

export interface StepExchangeOptions {
  readonly run: WorkerRun;
  readonly replica: Replica;
  readonly rule: ReplicaRule;
  /** The rate of a step that brings the run to `samples`. */
  learningRate(samples: number): number;
}

export function createStepExchange(options: StepExchangeOptions, role: PassiveOptions['role'] | null): StepExchange {
  const { passive } = options.run;
  if (passive === null) return createWaitingExchange(options);
  return role === 'everybody' ? createRoundExchange(options, passive) : createPublishingExchange(options, passive);
}

/** Sends READY and waits for the group. */
function createWaitingExchange({ run, replica, rule, learningRate }: StepExchangeOptions): StepExchange {
  return {
    take: (gradient, samples) => rule.beforeExchange(gradient, learningRate(samples), run.input),
    async exchange(round) {
      const finite = run.isInputFinite();
      const report = round.take();
      const { k, progress } = await run.exchange({ k: replica.k, finite, report, writeState: rule.writeState });
      rule.afterExchange({ average: run.output, k, finite }, learningRate(progress.samples));
    },
    atPeace: (act) => act(),
    async finish() {
      rule.writeReplica(run.input);
      await run.finish(replica.k, rule.writeState);
    },
  };
}

/** Eager-reduce: hands its gradient over, and waits only where no round has come since its replica's. */
function createRoundExchange({ run, replica, rule }: StepExchangeOptions, passive: PassiveRun): StepExchange {
  let finite = true;
  return {
    take(gradient) {
      finite = writeHandover(rule, gradient, passive.handover);
    },
    exchange: (round) => passive.publish({ k: replica.k, finite, report: round.take(), writeState: rule.writeState }),
    async atPeace(act) {
      await passive.hold();
      try {
        await act();
      } finally {
        passive.letGo();
      }
    },
    async finish() {
      await run.finish(replica.k, rule.writeState);
    },
  };
}

/** AD-PSGD, odd workers: applies each gradient to the replica as averages have left it, and waits for nobody. */
function createPublishingExchange(
  { run, replica, rule, learningRate }: StepExchangeOptions,
  passive: PassiveRun,
): StepExchange {
  const publishing = createPublishingRule(replica, rule);
  let gradient: Float32Array = new Float32Array(0);
  let samples = 0;

  async function hold(): Promise<Published> {
    const k = await passive.hold();
    return { values: run.input, k };
  }

  return {
    take(values, progress) {
      gradient = values;
      samples = progress;
    },
    async exchange(round) {
      const published = await hold();
      const step = { published, learningRate: learningRate(samples), into: passive.handover };
      const finite = publishing.apply(gradient, step);
      await passive.publish({ k: replica.k, finite, report: round.take() });
    },
    async atPeace(act) {
      publishing.takeNewest(await hold());
      try {
        await act();
      } finally {
        passive.letGo();
      }
    },
    async finish() {
      await this.atPeace(() => Promise.resolve());
      await run.finish(replica.k);
    },
  };
}
