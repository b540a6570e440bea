/**
 * Real worker processes around a controller in the test's process. Everything waits on events; nothing sleeps.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
// The compiled program, as users run it.
import { controller, type CoreConfig, type RunEvent, type RunningController } from 'preduce/client';
import { createEventLog } from '../support/event-log.js';

type Program = 'vector-worker' | 'lease-worker';

/** What the programs of fixtures/ tell: see there. */
export type WorkerMessage =
  | { readonly type: 'joined'; readonly worker: number; readonly k: number }
  | { readonly type: 'processed'; readonly worker: number; readonly ids: readonly string[] }
  | { readonly type: 'finished'; readonly worker: number; readonly value: number };

export interface FleetWorker {
  readonly process: ChildProcess;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** All that it said. */
  readonly messages: readonly WorkerMessage[];
  /** What it said at its end, null while it has not. */
  finalValue: number | null;
  stderr: string;
}

export interface Fleet {
  readonly running: RunningController;
  readonly events: readonly RunEvent[];
  readonly workers: readonly FleetWorker[];
  start(options?: { readonly stepMs?: number }): FleetWorker;
  /** The first event, past or future, that fits. */
  when(fits: (event: RunEvent) => boolean): Promise<RunEvent>;
  /** Calls back synchronously with each event. */
  onEvent(listener: (event: RunEvent) => void): void;
  /** The process of a worker number (a number that came back: its last one). */
  processOf(worker: number): FleetWorker;
  /** Ends what is left: call it whatever happened. */
  close(): Promise<void>;
}

export interface FleetOptions {
  readonly core: Partial<CoreConfig>;
  readonly length: number;
  /** Default: `vector-worker`. */
  readonly program?: Program;
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const log = createEventLog<RunEvent>();
  const workers: FleetWorker[] = [];
  const pids = new Map<number, number>();
  const program = fileURLToPath(new URL(`./fixtures/${options.program ?? 'vector-worker'}.mjs`, import.meta.url));
  const running = await controller({
    core: options.core,
    onEvent(event) {
      if (event.type === 'workerJoined') pids.set(event.worker, event.pid);
      log.add(event);
    },
  });

  function start({ stepMs = 2 }: { readonly stepMs?: number } = {}): FleetWorker {
    const child = fork(program, [String(options.length), String(stepMs)], {
      env: { ...process.env, PREDUCE_CONTROLLER: running.url },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      execArgv: [],
    });
    const messages: WorkerMessage[] = [];
    const worker: FleetWorker = {
      messages,
      process: child,
      finalValue: null,
      stderr: '',
      exited: new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal }))),
    };
    child.stderr?.on('data', (chunk) => {
      worker.stderr += String(chunk);
    });
    child.on('message', (message: WorkerMessage) => {
      messages.push(message);
      if (message.type === 'finished') worker.finalValue = message.value;
    });
    workers.push(worker);
    return worker;
  }

  return {
    running,
    events: log.events,
    workers,
    start,
    when: log.when,
    onEvent: log.onEvent,
    processOf(worker) {
      const found = workers.find((candidate) => candidate.process.pid === pids.get(worker));
      if (found === undefined) throw new Error(`no process of worker ${worker}`);
      return found;
    },
    async close() {
      for (const { process: child } of workers) child.kill('SIGKILL');
      await Promise.all(workers.map((worker) => worker.exited));
      await running.close();
    },
  };
}
