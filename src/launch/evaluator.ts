/**
 * The evaluator of a local run: a process that measures the test accuracy and writes the final model. Training goes on
 * without it, the model does not get saved without it: so one that dies is started again.
 */
import { fileURLToPath } from 'node:url';
import type { TrainingConfig } from '../training/config.js';
import { type ChildExit, describeExit, startChild } from './child-process.js';

export interface EvaluatorOptions {
  /** ws:// or wss:// address of the controller. */
  readonly controller: string;
  readonly token: string | null;
  /** The controller's own certificate, in PEM; null: its address is ws://. */
  readonly certificate: string | null;
  readonly training: TrainingConfig;
  readonly modelFile: string;
  /** Whether one that dies is started again now; a first one that cannot start is a failure of the run. */
  readonly mayRestart: () => boolean;
  readonly onLine: (line: string) => void;
}

export interface EvaluatorProcess {
  /** Resolves when it has ended for good. */
  readonly exited: Promise<ChildExit>;
  /** Ends it at once; it does not come back. */
  kill(): void;
}

/** What the process is told; the token comes in `TOKEN_VARIABLE`, because other users can read command lines. */
export type EvaluatorTask = Pick<EvaluatorOptions, 'controller' | 'certificate' | 'training' | 'modelFile'>;

export const TOKEN_VARIABLE = 'PREDUCE_TOKEN';

/** One that keeps dying has a reason that another start does not cure. */
const RESTARTS_MAX = 3;

const SCRIPT = fileURLToPath(new URL('./evaluator-process.js', import.meta.url));

/** Starts it. */
export function startEvaluator(options: EvaluatorOptions): EvaluatorProcess {
  const { controller, token, certificate, training, modelFile, onLine } = options;
  const task: EvaluatorTask = { controller, certificate, training, modelFile };
  const start = (): ReturnType<typeof startChild> =>
    startChild({
      name: 'evaluator',
      script: SCRIPT,
      args: [JSON.stringify(task)],
      onLine,
      ...(token === null ? {} : { env: { [TOKEN_VARIABLE]: token } }),
    });

  let killed = false;
  let child = start();
  async function lastExit(): Promise<ChildExit> {
    for (let restarts = 0; ; restarts += 1) {
      const exit = await child.exited;
      if (killed || exit.code === 0) return exit;
      onLine(`ended: ${describeExit(exit)}`);
      if (restarts === RESTARTS_MAX || !options.mayRestart()) return exit;
      child = start();
    }
  }
  return {
    exited: lastExit(),
    kill() {
      killed = true;
      child.kill('SIGKILL');
    },
  };
}
