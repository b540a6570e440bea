/**
 * A controller and what its connections may say, in any order, right or wrong: none of it may be more than the end of the
 * connection that said it. An input is a script: a line for the strategy, then lines of a connection's number and a message.
 */
import { PreduceError } from '../base/errors.js';
import { acceptConnection, checkSilence } from '../controller/connections.js';
import type { ControlPeerHandlers } from '../controller/control-server.js';
import type { StrategyName } from '../core/config.js';
import { STRATEGY_NAMES } from '../core/strategies/strategies.js';
import { decodeWorkerMessage } from '../wire/control.js';
import type { ControllerMessage, WorkerMessage } from '../wire/messages.js';
import { createDetachedRun } from './detached-run.js';
import { address, fromWorker } from './example-messages.js';
import { bytesOf, type Target, textOf } from './target.js';

const LINES_MAX = 200;
const CONNECTIONS_MAX = 8;
/** In a script: the group that the connection was told last, and its k. */
const GROUP = '"$group"';
const K = '"$k"';

interface FarEnd {
  readonly handlers: ControlPeerHandlers;
  isOpen: boolean;
  group: number;
  k: number;
}

function line(connection: number, message: object): string {
  return `${connection} ${JSON.stringify(message)}`;
}

const HELLO = { type: 'hello', version: { major: 1, minor: 0 }, role: 'worker', token: null };
const JOIN: Extract<WorkerMessage, { type: 'join' }> = {
  type: 'join',
  layout: [{ name: 'x', shape: [4] }],
  exchangeLength: 4,
  stateLength: 4,
  address,
  worker: null,
  pid: 1,
  hostname: 'here',
};
const READY = { type: 'ready', k: 1, samples: 8, finite: true, loss: 1, computeMs: 1, paddingMs: 0, overrun: false };
const DONE = { type: 'done', group: '$group', bytesSent: 16, reduceMs: 1 };

/** Two workers that join and average, a third that comes later, and the end. */
function session(strategy: string): string {
  const both = (message: object): string[] => [line(0, message), line(1, message)];
  return [
    strategy,
    ...(strategy.startsWith('ps-')
      ? [line(4, { ...HELLO, role: 'server' }), line(4, { type: 'serverJoin', address })]
      : []),
    line(5, { ...HELLO, role: 'evaluator' }),
    ...both(HELLO),
    ...both(JOIN),
    ...both({ type: 'synced', k: 0 }),
    line(4, { type: 'shardHeld' }),
    ...both({ type: 'leaseRequest', finished: null }),
    ...both(READY),
    ...both(DONE),
    line(2, HELLO),
    line(2, JOIN),
    line(2, { type: 'synced', k: '$k' }),
    line(0, { ...READY, k: 2 }),
    line(2, { ...READY, k: 2 }),
    line(0, DONE),
    line(2, { type: 'aborted', group: '$group', reason: 'lost' }),
    '1 close',
    '0 silence',
    ...both({ type: 'finished' }),
    line(2, { type: 'leave' }),
    ...both(DONE),
  ].join('\n');
}

/** Every message once, of a worker that is computing. */
const everyMessage = [
  'partial-reduce',
  line(0, HELLO),
  line(0, JOIN),
  line(1, HELLO),
  line(1, JOIN),
  line(0, { type: 'synced', k: 0 }),
  line(1, { type: 'synced', k: 0 }),
  ...fromWorker.map((message, i) => line(i % 3, message)),
].join('\n');

export const controllerTarget: Target = {
  name: 'controller',
  examples: [...STRATEGY_NAMES.map(session), everyMessage].map(bytesOf),
  read(bytes) {
    const [first = '', ...lines] = textOf(bytes).split('\n');
    const strategy: StrategyName = STRATEGY_NAMES.find((name) => name === first) ?? 'partial-reduce';
    const { run, close } = createDetachedRun({ strategy, minWorkers: 2, groupSize: 2, servers: 1 });
    const ends = new Map<number, FarEnd>();
    let failure: PreduceError | null = null;

    function connect(number: number): FarEnd {
      const end: FarEnd = {
        handlers: acceptConnection(
          run,
          peer(() => end),
        ),
        isOpen: true,
        group: 0,
        k: 0,
      };
      ends.set(number, end);
      return end;
    }

    function cut(end: FarEnd, error: PreduceError | null): void {
      if (!end.isOpen) return;
      end.isOpen = false;
      end.handlers.onClose(error);
    }

    function act(text: string): void {
      const number = Number(text[0]) % CONNECTIONS_MAX;
      if (!Number.isInteger(number)) return;
      const known = ends.get(number);
      const end = known?.isOpen === true ? known : connect(number);
      const said = text.slice(2);
      if (said === 'close') return cut(end, null);
      if (said === 'silence') return checkSilence(run);
      try {
        end.handlers.onMessage(
          decodeWorkerMessage(said.replaceAll(GROUP, String(end.group)).replaceAll(K, String(end.k))),
        );
      } catch (error) {
        // As the control server has it: the connection is over, and no other.
        if (!(error instanceof PreduceError)) throw error;
        failure = error;
        cut(end, error);
      }
    }

    try {
      for (const text of lines.slice(0, LINES_MAX)) act(text);
      run.core.view(performance.now());
    } finally {
      close();
    }
    if (failure !== null) throw failure as PreduceError;
  },
};

/** What the controller sends to one of them: noted as far as scripts refer to it. */
function peer(end: () => FarEnd | undefined): Parameters<typeof acceptConnection>[1] {
  return {
    remote: 'a script',
    send(message: ControllerMessage) {
      const to = end();
      if (to === undefined) return;
      if (message.type === 'group') Object.assign(to, { group: message.group, k: message.kMax });
      if (message.type === 'release') to.k = message.k;
    },
    prove: () => undefined,
    close: () => undefined,
  };
}
