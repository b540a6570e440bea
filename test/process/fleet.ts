/**
 * Real worker processes around a controller in the test's process. Everything waits on events; nothing sleeps.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
// The compiled program, as users run it.
import { controller, type CoreConfig, type RunEvent, type RunningController } from 'preduce/client';
import { createEventLog } from '../support/event-log.js';

const WORKER = fileURLToPath(new URL('./fixtures/vector-worker.mjs', import.meta.url));

export interface FleetWorker {
  readonly process: ChildProcess;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
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
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const log = createEventLog<RunEvent>();
  const workers: FleetWorker[] = [];
  const pids = new Map<number, number>();
  const running = await controller({
    core: options.core,
    onEvent(event) {
      if (event.type === 'workerJoined') pids.set(event.worker, event.pid);
      log.add(event);
    },
  });

  function start({ stepMs = 2 }: { readonly stepMs?: number } = {}): FleetWorker {
    const child = fork(WORKER, [String(options.length), String(stepMs)], {
      env: { ...process.env, PREDUCE_CONTROLLER: running.url },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      execArgv: [],
    });
    const worker: FleetWorker = {
      process: child,
      finalValue: null,
      stderr: '',
      exited: new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal }))),
    };
    child.stderr?.on('data', (chunk) => {
      worker.stderr += String(chunk);
    });
    child.on('message', (message: { type: string; value: number }) => {
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
