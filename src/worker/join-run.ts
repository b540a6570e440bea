/**
 * `joinRun`: partial reduce for a training loop written by hand, with any library that keeps its parameters in a
 * Float32Array. Needs no engine.
 */
import { PreduceError } from '../base/errors.js';
import type { Lease, Progress } from '../core/group.js';
import { layoutLength } from '../wire/layout.js';
import { LIMITS } from '../wire/limits.js';
import type { Layout } from '../wire/messages.js';
import { type ConnectOptions, connectWorker, type ExchangeOutcome } from './worker-run.js';

export interface JoinRunOptions extends Partial<ConnectOptions> {
  /** ws:// or wss:// address; default: the environment variable PREDUCE_CONTROLLER. */
  readonly controller?: string;
  /** Names and shapes of the tensors in the flat vector, the same at every worker. */
  readonly layout: Layout;
  /** The model to begin with, should this worker be the run's first; the others get the run's. Copied. */
  readonly initial: Float32Array;
  /** Running statistics and the like, averaged along with the parameters; updated in place, like `Run.parameters`. */
  readonly auxiliary?: Float32Array;
  /** Number to ask for (a worker that comes back may want its old one). */
  readonly worker?: number;
}

export interface ReduceOptions {
  /** Samples of the step just taken. */
  readonly samples: number;
  /** Mean training loss of the step, for the run record. */
  readonly loss?: number;
}

/** One worker's part in a run. Await one call at a time. */
export interface Run {
  readonly worker: number;
  /** Flat parameters, shape by `layout`: update them in place; `reduce` replaces them by the group's average. */
  readonly parameters: Float32Array;
  /** The run's settings, as the controller was given them. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Iteration number: +1 for each local step; after a reduce that of the group's freshest member. */
  readonly k: number;
  /** Global progress, as of the last answer of the controller. */
  readonly progress: Progress;
  /** True when the run asks for no further step: call `finish`. */
  readonly done: boolean;
  /**
   * Averages with whoever is ready (algorithms.md 2, steps 3 to 6). Call it after each local step.
   * Throws `run-ended`, `connection-lost`, `bad-option`.
   */
  reduce(options: ReduceOptions): Promise<ExchangeOutcome>;
  /** The next samples to work on, where the controller keeps a ledger; null when there are none left. */
  lease(): Promise<Lease | null>;
  /** Records values of this worker's own, by name (256 characters at most). Throws `bad-option`. */
  log(values: Readonly<Record<string, number>>): void;
  /** The average over all live replicas (a copy), once every worker has finished. Ends the run for this worker. */
  finish(): Promise<Float32Array>;
  /** Leaves the run without waiting for its end. */
  leave(): Promise<void>;
}

function checkOptions(options: JoinRunOptions): { controller: string; auxiliary: Float32Array } {
  const controller = options.controller ?? process.env['PREDUCE_CONTROLLER'];
  if (controller === undefined || controller === '') {
    throw new PreduceError(
      'bad-option',
      'expected the controller\'s address, got none: pass { controller: "ws://host:29400" } or set PREDUCE_CONTROLLER',
    );
  }
  checkVectors(options);
  return { controller, auxiliary: options.auxiliary ?? new Float32Array(0) };
}

/** The vectors and the layout that they are described by. JavaScript callers may pass anything. */
function checkVectors({ layout, initial, auxiliary }: JoinRunOptions): void {
  for (const [name, vector] of Object.entries({ initial, auxiliary: auxiliary ?? new Float32Array(0) })) {
    if (vector instanceof Float32Array) continue;
    throw new PreduceError('bad-option', `${name}: expected a Float32Array, got ${kindOf(vector)}`);
  }
  if (!Array.isArray(layout) || layout.length === 0) {
    throw new PreduceError(
      'bad-layout',
      "expected a layout of at least one tensor, such as [{ name: 'weights', shape: [10, 784] }], got none",
    );
  }
  const expected = layoutLength(layout);
  if (!Number.isSafeInteger(expected) || expected < 1 || expected > LIMITS.parametersMax) {
    throw new PreduceError(
      'bad-layout',
      `expected shapes of whole numbers that make 1 to ${LIMITS.parametersMax} values, got ${expected}`,
    );
  }
  if (initial.length !== expected) {
    throw new PreduceError(
      'bad-layout',
      `expected ${expected} initial values, as the layout's shapes multiply to, got ${initial.length}`,
    );
  }
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === 'object' ? value.constructor.name : `a ${typeof value}`;
}

function checkSamples(samples: number): void {
  if (Number.isSafeInteger(samples) && samples >= 0) return;
  throw new PreduceError('bad-option', `samples: expected the whole number of samples of this step, got ${samples}`);
}

/**
 * Joins the run at `controller` and resolves when training may begin, all workers holding the same model.
 * Throws `controller-unreachable`, `untrusted`, `refused`, `version-mismatch`, `bad-layout`, `bad-option`.
 */
export async function joinRun(options: JoinRunOptions): Promise<Run> {
  const { controller, auxiliary } = checkOptions(options);
  const parameters = options.initial.slice();
  const layout: Layout =
    auxiliary.length === 0 ? options.layout : [...options.layout, { name: 'auxiliary', shape: [auxiliary.length] }];
  const connected = await connectWorker({ ...options, controller });
  const write = (into: Float32Array): void => {
    into.set(parameters);
    into.set(auxiliary, parameters.length);
  };
  const read = (from: Float32Array): void => {
    parameters.set(from.subarray(0, parameters.length));
    auxiliary.set(from.subarray(parameters.length, parameters.length + auxiliary.length));
  };
  const worker = await connected.join({ layout, worker: options.worker ?? null, writeState: write, readState: read });

  let k = worker.initialK;
  let progress: Progress = { samples: 0, localSteps: 0 };
  let held: Lease | null = null;
  let stepStartedMs = performance.now();

  async function reduce({ samples, loss }: ReduceOptions): Promise<ExchangeOutcome> {
    checkSamples(samples);
    const computeMs = performance.now() - stepStartedMs;
    write(worker.input);
    const outcome = await worker.exchange({
      k: k + 1,
      finite: worker.isInputFinite(),
      report: {
        samples,
        loss: loss !== undefined && Number.isFinite(loss) ? loss : null,
        computeMs,
        paddingMs: 0,
        overrun: false,
      },
    });
    read(worker.output);
    k = outcome.k;
    progress = outcome.progress;
    stepStartedMs = performance.now();
    return outcome;
  }

  return {
    worker: worker.worker,
    parameters,
    config: connected.config,
    get k() {
      return k;
    },
    get progress() {
      return progress;
    },
    get done() {
      return worker.done;
    },
    reduce,
    async lease() {
      held = await worker.lease(held);
      stepStartedMs = performance.now();
      return held;
    },
    log: (values) => worker.log(values),
    async finish() {
      write(worker.input);
      const outcome = await worker.finish(k);
      k = outcome.k;
      // Not before the end: the final average is made again when a holder of it dies.
      await worker.closed;
      read(worker.output);
      return parameters.slice();
    },
    leave: () => worker.leave(),
  };
}
