/**
 * The compiled program as a user types it: processes whose output is waited for, and data small enough to train on in a
 * moment. Nothing sleeps: tests wait for lines, exits and processes to be gone.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface CliResult {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliProcess {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly ended: Promise<CliResult>;
  /** Resolves with the first match in what it writes to stderr, past or future. Rejects when it ends without one. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
}

export type Variables = Readonly<Record<string, string>>;

/** A folder of a test's own, and what was started in it. */
export interface Workplace {
  readonly folder: string;
  /** A path in the folder. */
  path(name: string): string;
  /** Starts it in the folder, or in a sub-folder that exists, with variables beside those of this process. */
  start(args: readonly string[], cwd?: string, variables?: Variables): CliProcess;
  /** Starts it and waits for its end. */
  run(args: readonly string[], cwd?: string, variables?: Variables): Promise<CliResult>;
  /** Runs it as the last arguments of another program. */
  runUnder(program: string, programArgs: readonly string[], args: readonly string[]): Promise<CliResult>;
  /** Ends what still runs, and removes the folder. */
  close(): Promise<void>;
}

export async function openWorkplace(): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), 'preduce-cli-'));
  const started: CliProcess[] = [];
  function start(args: readonly string[], cwd = folder, variables: Variables = {}): CliProcess {
    return keep(startCli([PROGRAM, ...args], { cwd, variables }));
  }
  function keep(cli: CliProcess): CliProcess {
    started.push(cli);
    return cli;
  }
  return {
    folder,
    path: (name) => join(folder, name),
    start,
    run: (args, cwd, variables) => start(args, cwd, variables).ended,
    runUnder: (program, programArgs, args) =>
      keep(startCli([...programArgs, process.execPath, PROGRAM, ...args], { cwd: folder, program })).ended,
    async close() {
      for (const cli of started) cli.process.kill('SIGKILL');
      await Promise.all(started.map((cli) => cli.ended));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface StartOptions {
  readonly cwd: string;
  readonly variables?: Variables;
  /** Default: Node. */
  readonly program?: string;
}

function startCli(
  args: readonly string[],
  { cwd, variables = {}, program = process.execPath }: StartOptions,
): CliProcess {
  const child = spawn(program, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...variables },
  });
  let stdout = '';
  let stderr = '';
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const check of waiting) check();
  };
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
    wake();
  });
  let isOver = false;
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      isOver = true;
      wake();
      resolve({ code, signal, stdout, stderr });
    });
  });
  return {
    process: child,
    pid: child.pid ?? -1,
    ended,
    said: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const match = pattern.exec(stderr);
          if (match === null && !isOver) return;
          waiting.delete(check);
          if (match !== null) resolve(match);
          else reject(new Error(`${args.join(' ')} ended without saying ${pattern}, but: ${stderr}`));
        };
        waiting.add(check);
        check();
      }),
  };
}

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Living processes of this machine; one that has ended but was not waited for is none. */
export function livingProcesses(): readonly ProcessEntry[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, parent, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (pid === undefined || state?.startsWith('Z') === true) return [];
    return [{ pid: Number(pid), parent: Number(parent), command: command ?? '' }];
  });
}

export function childrenOf(pid: number): readonly ProcessEntry[] {
  return livingProcesses().filter((entry) => entry.parent === pid);
}

const SIDE = 28;

/** Four IDX files in MNIST's format: each digit a bar at a height of its own, learnt within a few steps. */
export async function writeTinyDigits(folder: string, counts: { train: number; test: number }): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [prefix, count] of [
    ['train', counts.train],
    ['t10k', counts.test],
  ] as const) {
    const images = idxFile([count, SIDE, SIDE]);
    const labels = idxFile([count]);
    for (let i = 0; i < count; i += 1) {
      const digit = i % 10;
      const barStart = images.offset + i * SIDE * SIDE + 2 * digit * SIDE;
      images.bytes.fill(200, barStart, barStart + 2 * SIDE);
      labels.bytes[labels.offset + i] = digit;
    }
    await writeFile(join(folder, `${prefix}-images-idx3-ubyte`), images.bytes);
    await writeFile(join(folder, `${prefix}-labels-idx1-ubyte`), labels.bytes);
  }
}

function idxFile(shape: readonly number[]): { readonly bytes: Buffer; readonly offset: number } {
  const offset = 4 + 4 * shape.length;
  const bytes = Buffer.alloc(offset + shape.reduce((product, size) => product * size, 1));
  bytes.set([0, 0, 8, shape.length]);
  for (const [axis, size] of shape.entries()) bytes.writeUInt32BE(size, 4 + 4 * axis);
  return { bytes, offset };
}
