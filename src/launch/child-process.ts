/**
 * Child processes of a local run. Each has an IPC channel to its parent and ends when the channel closes, so a parent
 * that is killed leaves no orphan; each is its own process group's member but ignores Ctrl-C, which the parent handles.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface ChildOptions {
  readonly name: string;
  /** File of the compiled program to run. */
  readonly script: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A line that it wrote to stderr or stdout. */
  readonly onLine?: (line: string) => void;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last lines that it wrote, for error messages. */
  readonly lastLines: readonly string[];
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Resolves when it has ended, whatever the way. */
  readonly exited: Promise<ChildExit>;
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  kill(signal: NodeJS.Signals): void;
}

const LAST_LINES = 5;

/** What stands for options of the command that was typed is not for its children, which are told all that they need. */
function inheritedEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PREDUCE_')));
}

/** Starts `node script args` with the engine's threads kept from spinning up before they are asked for. */
export function startChild(options: ChildOptions): Child {
  const child: ChildProcess = fork(options.script, [...options.args], {
    env: { ...inheritedEnvironment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [],
  });
  const lastLines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lastLines.push(line);
      if (lastLines.length > LAST_LINES) lastLines.shift();
      options.onLine?.(line);
    });
  }
  const exited = new Promise<ChildExit>((resolve) => {
    // `close` comes after the last line was read.
    child.once('close', (code, signal) => resolve({ code, signal, lastLines }));
    child.once('error', (error) => {
      lastLines.push(error.message);
      resolve({ code: null, signal: null, lastLines });
    });
  });
  return {
    name: options.name,
    pid: child.pid ?? -1,
    exited,
    send(message) {
      if (child.connected) child.send(message as object);
    },
    onMessage: (listener) => child.on('message', listener),
    kill: (signal) => child.kill(signal),
  };
}

/** Why a process ended, in its own last words where it had any. */
export function describeExit({ code, signal, lastLines }: ChildExit): string {
  // Workers are the program itself, which puts its name before its errors.
  const said = lastLines.at(-1)?.replace(/^preduce: /, '');
  return said ?? (signal === null ? `exit code ${code}` : `killed by ${signal}`);
}

/** In a child: ends the process when the parent is gone, and leaves Ctrl-C to the parent. */
export function followParent(): void {
  if (process.channel === undefined) return;
  process.on('disconnect', () => process.exit(1));
  process.on('SIGINT', () => undefined);
  // The channel alone must not keep a child alive that has finished.
  process.channel?.unref();
}
