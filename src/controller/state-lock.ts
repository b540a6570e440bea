/**
 * The lock of a state directory: one controller at a time goes on with a run. A file says who has it; of a process that is gone it is
 * void, and taken over. Where another machine shares the directory, only that machine can tell.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { PreduceError } from '../base/errors.js';

export interface StateLock {
  release(): void;
}

interface Holder {
  readonly pid: number;
  readonly hostname: string;
  /** Tells a process from a later one with the same number; null: this system does not say. */
  readonly started: string | null;
}

const LOCK_NAME = 'lock.json';
/** Others that may come first, again and again. */
const ATTEMPTS_MAX = 10;

/** Locks held by this process: a second controller in it is a second one, too. */
const heldHere = new Set<string>();

/** When a process began, in the kernel's words; null where that cannot be told. */
function startOf(pid: number): string | null {
  try {
    // The name, in brackets, may contain anything; the start is the 20th field after it (proc(5)).
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  } catch {
    return null;
  }
}

function isAlive({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Somebody else's process is one, too.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return started === null || startOf(pid) === null || startOf(pid) === started;
}

function parseHolder(text: string): Holder | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    const { pid, hostname: host, started } = value as Readonly<Record<string, unknown>>;
    if (!Number.isSafeInteger(pid) || typeof host !== 'string') return null;
    return { pid: pid as number, hostname: host, started: typeof started === 'string' ? started : null };
  } catch {
    return null;
  }
}

/** Whose lock it is and why it stands; null: it is void. */
function whyHeld(text: string, path: string): string | null {
  const holder = parseHolder(text);
  if (holder === null) return null;
  if (holder.hostname !== hostname()) {
    return `process ${holder.pid} on ${holder.hostname} has it: if that is gone, remove ${path}`;
  }
  if (holder.pid === process.pid) return heldHere.has(path) ? 'this process has it already' : null;
  return isAlive(holder) ? `process ${holder.pid} has it and runs: stop that one first` : null;
}

/** Takes the lock of a directory that exists. Throws `state-locked`. */
export function takeStateLock(directory: string): StateLock {
  const path = join(directory, LOCK_NAME);
  const own = `${path}.${process.pid}.tmp`;
  const holder: Holder = { pid: process.pid, hostname: hostname(), started: startOf(process.pid) };
  writeFileSync(own, `${JSON.stringify(holder)}\n`);
  try {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      if (tryToTake(own, path)) {
        heldHere.add(path);
        return {
          release() {
            if (heldHere.delete(path)) rmSync(path, { force: true });
          },
        };
      }
    }
    throw locked(directory, 'others keep taking it');
  } finally {
    rmSync(own, { force: true });
  }

  /** A link is made whole or not at all, and never over another file. */
  function tryToTake(from: string, to: string): boolean {
    try {
      linkSync(from, to);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const text = readIfThere(to);
    if (text === null) return false;
    const reason = whyHeld(text, to);
    if (reason !== null) throw locked(directory, reason);
    setAside(to, text);
    return false;
  }
}

/** Removes a void lock, and puts it back where it turns out to be another's, who was faster. */
function setAside(path: string, text: string): void {
  const aside = `${path}.${process.pid}.void`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (readIfThere(aside) !== text) {
    try {
      linkSync(aside, path);
    } catch {
      // A third one has it by now.
    }
  }
  rmSync(aside, { force: true });
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function locked(directory: string, reason: string): PreduceError {
  return new PreduceError(
    'state-locked',
    `--state ${directory}: expected a directory that no other controller has, but ${reason}`,
  );
}
