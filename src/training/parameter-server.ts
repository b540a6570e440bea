/**
 * A parameter server's part in a run (algorithms.md 6): fetches its part of the initial parameters from a worker, then takes part in the
 * collective of every group, one after another in the order in which the controller announced them, so that all servers
 * apply the same updates in the same order.
 */
import { assertPresent } from '../base/assert.js';
import { ERROR_CODES, messageOf, PreduceError } from '../base/errors.js';
import type { GroupId } from '../base/ids.js';
import { createCommunicator } from '../collective/communicator.js';
import { planServer, serverPart } from '../collective/plan/server.js';
import { scratchLength } from '../collective/streams.js';
import type { Communicator } from '../collective/task.js';
import { createTcpTransport } from '../transport/tcp.js';
import type { ControllerMessage, GroupMessage } from '../wire/messages.js';
import { connectControl, type ControlConnection } from '../worker/control-connection.js';
import type { Target } from '../worker/trust.js';
import { parseTrainingConfig, type TrainingConfig } from './config.js';
import { createSchedule, type Schedule } from './schedule.js';
import { createServerShard, type ServerShard } from './server-shard.js';

export interface ParameterServerOptions extends Target {
  /** How many of the exchanged values are parameters; the others are running statistics. */
  readonly parameterCountOf: (config: TrainingConfig) => Promise<number>;
}

type ShardMessage = Extract<ControllerMessage, { type: 'shard' }>;

const FETCH_TIMEOUT_MS = 10_000;

/** Serves until the controller closes the connection. Throws `controller-unreachable`, `refused`, `version-mismatch`, `connection-lost`, `bad-config`. */
export async function runParameterServer(options: ParameterServerOptions): Promise<void> {
  let heartbeat: NodeJS.Timeout | null = null;
  let communicator: Communicator | null = null;
  let server: Server | null = null;
  let config: TrainingConfig | null = null;
  try {
    await new Promise<void>((resolve, reject) => {
      let control: ControlConnection | null = null;
      // The welcome may come before the promise of the connection is seen to be kept.
      const opened = connectControl(
        { ...options, role: 'server', connectTimeoutMs: 10_000 },
        { onMessage, onClose: (error) => (error === null ? resolve() : reject(error)) },
      );
      opened.then((open) => {
        control = open;
      }, reject);

      async function listen(message: Extract<ControllerMessage, { type: 'welcome' }>): Promise<void> {
        const open = await opened;
        config = parseTrainingConfig(message.config);
        heartbeat = setInterval(() => open.send({ type: 'heartbeat' }), message.heartbeatMs);
        communicator = await createCommunicator(
          { listen: { host: open.localHost, port: 0 }, serve: () => null },
          { transport: createTcpTransport({ encrypts: message.encrypts === true }) },
        );
        open.send({ type: 'serverJoin', address: communicator.address });
      }

      async function take(message: ShardMessage): Promise<void> {
        const open = await opened;
        const of = assertPresent(config, 'the settings of the run');
        const data = assertPresent(communicator, 'a data port');
        try {
          const shard = await fetchShard(message, { communicator: data, config: of, options });
          server = createServer({ message, shard, communicator: data, config: of });
          open.send({ type: 'shardHeld' });
        } catch (error) {
          open.send({ type: 'shardFailed', reason: messageOf(error) });
        }
      }

      function onMessage(message: ControllerMessage): void {
        switch (message.type) {
          case 'welcome':
            listen(message).catch(reject);
            return;
          case 'shard':
            take(message).catch(reject);
            return;
          case 'group':
            server?.announce(message);
            return;
          case 'abort':
            server?.abort(message.group as GroupId, { reason: message.reason, keep: message.keep ?? false });
            return;
          case 'refused': {
            const code = ERROR_CODES.find((known) => known === message.code) ?? 'refused';
            reject(new PreduceError(code, message.message));
            return control?.close();
          }
          case 'close':
            return control?.close();
          default:
        }
      }
    });
  } finally {
    if (heartbeat !== null) clearInterval(heartbeat);
    await (communicator as Communicator | null)?.close();
  }
}

async function fetchShard(
  message: ShardMessage,
  parts: {
    readonly communicator: Communicator;
    readonly config: TrainingConfig;
    readonly options: ParameterServerOptions;
  },
): Promise<ServerShard> {
  const { communicator, config, options } = parts;
  const { server, servers, self, runKey, exchangeLength, stateLength, donor } = message;
  communicator.setIdentity({ role: 'worker', ...self, runKey });
  const state = new Float32Array(stateLength);
  await communicator.fetchState(donor, state, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  const { start, end } = serverPart({ servers, length: exchangeLength }, server);
  const parameterCount = (await options.parameterCountOf(config)) - start;
  return createServerShard({
    values: state.slice(start, end),
    parameterCount: Math.min(Math.max(0, parameterCount), end - start),
    optimizer: config,
  });
}

interface Server {
  /** Takes part in the group when all announced before it are over. */
  announce(group: GroupMessage): void;
  /** It is given up. Its update is taken back if no later one was announced, unless a member holds it (`keep`). */
  abort(group: GroupId, how: { readonly reason: string; readonly keep: boolean }): void;
}

interface ServerParts {
  readonly message: ShardMessage;
  readonly shard: ServerShard;
  readonly communicator: Communicator;
  readonly config: TrainingConfig;
}

function isUpdate({ members }: GroupMessage): boolean {
  return members.some(({ weight }) => weight > 0);
}

function createServer({ message, shard, communicator, config }: ServerParts): Server {
  const schedule: Schedule = createSchedule(config.schedule);
  const { server, servers, exchangeLength } = message;
  const output = new Float32Array(shard.values.length);
  const queue: GroupMessage[] = [];
  let scratch = new Float32Array(0);
  let running: { readonly group: number; readonly abort: AbortController } | null = null;
  let lastUpdate = -1;

  function scratchFor(workers: number): Float32Array {
    const length = scratchLength(workers * output.length, workers);
    if (scratch.length < length) scratch = new Float32Array(length);
    return scratch;
  }

  async function serve(of: GroupMessage, abort: AbortController): Promise<void> {
    const { members, servers: peers = [], progress } = of;
    const workers = members.length;
    const rank = workers + server;
    const group = of.group as GroupId;
    const weights = members.map(({ weight }) => weight);
    const learningRate = config.learningRate * schedule(progress.samples);
    await communicator.reduce({
      group,
      collective: planServer({ rank, workers, servers, length: exchangeLength }),
      members: [...members, ...peers],
      rank,
      weights,
      input: shard.values,
      output,
      scratch: scratchFor(workers),
      signal: abort.signal,
      apply: (sum) => shard.push(sum, { group, weights, learningRate }),
    });
  }

  async function serveQueue(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const abort = new AbortController();
      running = { group: next.group, abort };
      try {
        await serve(next, abort);
      } catch (error) {
        // A member is lost: it, or the controller, gives the group up for the others.
        if (!(error instanceof PreduceError)) throw error;
      }
    }
    running = null;
  }

  function takeBack(group: GroupId): void {
    if (group === lastUpdate) shard.undo(group);
  }

  return {
    announce(group) {
      if (isUpdate(group)) lastUpdate = group.group;
      queue.push(group);
      if (running === null) void serveQueue();
    },
    abort(group, { reason, keep }) {
      const waiting = queue.findIndex((each) => each.group === group);
      if (waiting >= 0) queue.splice(waiting, 1);
      if (running?.group === group) running.abort.abort(new PreduceError('aborted', reason));
      else communicator.discard(group);
      if (!keep) takeBack(group);
    },
  };
}
