/**
 * The parameter servers of a local run: processes that hold the parameters of the strategies that need them.
 */
import { strategies } from '../core/strategies/strategies.js';
import { PreduceError } from '../base/errors.js';
import { type Child, describeExit, startChild } from './child-process.js';
import type { ResolvedRun } from './run-options.js';

export interface ServersOptions {
  readonly run: ResolvedRun;
  /** ws:// address of the controller. */
  readonly controller: string;
  /** Compiled entry of the program. */
  readonly script: string;
  readonly onLine: (from: string, line: string) => void;
}

/** Starts as many as the strategy needs: none where it has no servers. */
export function startServers({ run, controller, script, onLine }: ServersOptions): readonly Child[] {
  const { strategy, servers } = run.core;
  const count = strategies[strategy].usesServers === true ? servers : 0;
  return Array.from({ length: count }, (_, index) => {
    const name = `server ${index}`;
    const child = startChild({
      name,
      script,
      args: ['server', '--controller', controller],
      onLine: (line) => onLine(name, line),
    });
    void child.exited.then((exit) => {
      if (exit.code !== 0) onLine(name, `ended: ${describeExit(exit)}`);
    });
    return child;
  });
}

/** Rejects when a server cannot start. Later its end is the controller's to see. */
export function serverFailure(servers: readonly Child[], isStarted: () => boolean): Promise<never> {
  return new Promise((_, reject) => {
    for (const server of servers) {
      void server.exited.then((exit) => {
        if (!isStarted())
          reject(new PreduceError('worker-failed', `${server.name} could not start: ${describeExit(exit)}`));
      });
    }
  });
}
