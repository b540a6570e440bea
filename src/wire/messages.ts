/**
 * The control messages between a worker (or the evaluator) and the controller: JSON over WebSocket, one object a
 * message, validated at both ends. docs/protocol.md tells the exchange; the types come from the schemas here.
 */
import { z } from 'zod';
import { LIMITS } from './limits.js';

const text = z.string().max(LIMITS.textCharsMax);
const count = z.number().int().nonnegative();
/** A count that data frames carry, too. */
const uint32 = count.max(LIMITS.uint32Max);
const worker = count.max(LIMITS.workersMax - 1);
const incarnation = uint32;
const k = uint32;
/** Length of a vector, in float32 values. */
const vectorLength = count.max(LIMITS.parametersMax);
const group = count;

const version = z.object({ major: count, minor: count });

/** One tensor of a replica; the flat vector holds them one after another in this order. */
const tensor = z.object({ name: text, shape: z.array(vectorLength).max(LIMITS.dimensionsMax) });

/** Names and shapes of a replica's tensors, in the order of the flat vector. */
const layout = z.array(tensor).max(LIMITS.tensorsMax);

/** Where a worker's data port is reached. */
const address = z.object({
  host: z
    .string()
    .max(LIMITS.hostCharsMax)
    .regex(/^[\x21-\x7e]+$/, 'expected a host name or an IP address'),
  port: z.number().int().min(1).max(65_535),
  /** Name of the local socket that reaches the same port, for peers on the same machine. */
  socket: z
    .string()
    .max(LIMITS.socketCharsMax)
    .regex(/^[a-z0-9-]+$/, 'expected letters a to z, digits and hyphens')
    .optional(),
});

const progress = z.object({ samples: count, localSteps: count });

const lease = z.object({ id: count, epoch: count, start: count, count: z.number().int().positive() });

const peer = z.object({ worker, incarnation, address });

const member = peer.extend({ k, weight: z.number().min(0).max(1) });

const life = { worker, incarnation };

/** How often to send `heartbeat`, in ms. */
const heartbeatMs = z.number().positive().max(LIMITS.heartbeatMsMax);

/** What a run is made of: decided by whoever started the controller, the same for every worker. */
const runConfig = z.record(z.string().max(LIMITS.keyCharsMax), z.unknown());

const workerMessages = [
  /** First message of a connection. The evaluator takes no part in training: it pulls replicas and reports their accuracy. */
  z.object({
    type: z.literal('hello'),
    version,
    role: z.enum(['worker', 'evaluator', 'server']),
    token: text.nullable(),
  }),
  /** A worker's second message: the data port it listens on, the layout of its replica, its wanted number. */
  z.object({
    type: z.literal('join'),
    layout,
    /** Length of the exchanged vector and of the state sent to joiners, in float32 values. */
    exchangeLength: vectorLength,
    stateLength: vectorLength,
    address,
    worker: worker.nullable(),
    pid: count,
    hostname: text,
  }),
  /**
   * Instead of `join`: a life whose connection was lost is back, and this is where it stands. Since version 1.1.
   */
  z.object({
    type: z.literal('resume'),
    ...life,
    /** What `joined` told this life. */
    secret: text,
    address,
    pid: count,
    hostname: text,
    doing: z.enum(['joining', 'waiting', 'computing', 'idle', 'finished']),
    k: k.nullable(),
    /** Its READY, which nothing has answered. */
    ready: z.object({ k, finite: z.boolean() }).nullable(),
    finite: z.boolean(),
    /** All of this life. */
    localSteps: count,
    samples: count,
    /** Since it held a group's average last. */
    samplesSinceGroup: count,
    /** The lease that it works on; while idle, the one that it has completed. */
    lease: count.nullable(),
    finished: count.nullable(),
  }),
  z.object({ type: z.literal('synced'), k }),
  z.object({ type: z.literal('transferFailed'), reason: text }),
  z.object({
    type: z.literal('ready'),
    k,
    /** Local steps since the last READY; left out: one. */
    steps: uint32.min(1).optional(),
    samples: count,
    finite: z.boolean(),
    /** Mean training loss of the step, where the worker knows it; null also stands for a loss that is not finite. */
    loss: z.number().nullable(),
    /** Time from the last commit (or start) to this READY, and how much of it was emulated padding; in ms. */
    computeMs: z.number().nonnegative(),
    paddingMs: z.number().nonnegative(),
    /** True when the step took longer than the emulated device allows. */
    overrun: z.boolean(),
  }),
  z.object({
    type: z.literal('done'),
    group,
    bytesSent: count,
    reduceMs: z.number().nonnegative(),
    /** Members that were bounded by robust clipping; the group's first member tells. */
    clipped: z.array(worker).max(LIMITS.workersMax).optional(),
  }),
  /** `stalled`: the member that was there and moved nothing, where that is why. */
  z.object({ type: z.literal('aborted'), group, reason: text, stalled: worker.optional() }),
  z.object({ type: z.literal('leaseRequest'), finished: count.nullable() }),
  /**
   * Answer to `checkpoint`: this worker's state between two steps is kept. `lease`: the one that it has begun, `processed` of
   * its samples are in the replica. `bytes` and `sha256` are those of what was written.
   */
  z.object({
    type: z.literal('checkpointed'),
    checkpoint: count,
    k,
    lease: count.nullable(),
    processed: count,
    bytes: count,
    sha256: z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hexadecimal digits'),
  }),
  z.object({ type: z.literal('checkpointFailed'), checkpoint: count, reason: text }),
  z.object({ type: z.literal('finished') }),
  z.object({ type: z.literal('leave') }),
  z.object({ type: z.literal('heartbeat') }),
  /** Values that the user logs (`run.log`); not interpreted. JSON has no NaN: null stands for what is not finite. */
  z.object({
    type: z.literal('log'),
    values: z.record(
      z.string().max(LIMITS.keyCharsMax),
      z
        .number()
        .nullable()
        .transform((value) => value ?? Number.NaN),
    ),
  }),
  /** The evaluator's answer to `evaluate`. */
  z.object({
    type: z.literal('evaluated'),
    mark: count,
    loss: z.number().nullable(),
    accuracy: z.number().min(0).max(1),
    replicas: count,
    cpuMs: z.number().nonnegative(),
  }),
  z.object({ type: z.literal('evaluationFailed'), mark: count, reason: text }),
  /** A server's second message: the data port it listens on. */
  z.object({ type: z.literal('serverJoin'), address }),
  /** Answer to `shard`: its part of the parameters is held, or could not be had. */
  z.object({ type: z.literal('shardHeld') }),
  z.object({ type: z.literal('shardFailed'), reason: text }),
] as const;

const controllerMessages = [
  /** Answer to `hello`. `encrypts`: data connections are encrypted (protocol.md 4.5). */
  z.object({
    type: z.literal('welcome'),
    version,
    runId: text,
    config: runConfig,
    heartbeatMs,
    encrypts: z.boolean().optional(),
  }),
  /** Answer to `hello` or `join`: not taken. The connection closes. */
  z.object({ type: z.literal('refused'), code: text, message: text }),
  /** Answer to `join`. `runKey` opens the data ports of the run's workers; `secret` is for this life's `resume`. */
  z.object({ type: z.literal('joined'), ...life, runKey: text, secret: text.optional() }),
  /** Answer to `resume`: this life goes on. Since version 1.1, as `resume` is. */
  z.object({ type: z.literal('resumed'), progress }),
  z.object({ type: z.literal('seed') }),
  z.object({ type: z.literal('transfer'), donor: peer }),
  z.object({ type: z.literal('start') }),
  z.object({
    type: z.literal('group'),
    group,
    kind: z.enum(['step', 'final']),
    /** The plan that all members follow (protocol.md 5). */
    collective: z.enum(['direct', 'ring', 'server']),
    members: z.array(member).min(1).max(LIMITS.workersMax),
    kMax: k,
    progress,
    /** With `server`: the servers, in the order of their parts. */
    servers: z.array(peer).max(LIMITS.workersMax).optional(),
    /** Bound members that are far from the others. */
    robust: z.literal('clip').optional(),
  }),
  /** To servers also whether some member holds the result, so that it stands. */
  z.object({ type: z.literal('abort'), group, reason: text, keep: z.boolean().optional() }),
  z.object({ type: z.literal('release'), k, progress }),
  z.object({ type: z.literal('lease'), lease, progress }),
  /** Keep the state between two steps, the first at which k is at least `fromK`, or that of the last step. */
  z.object({ type: z.literal('checkpoint'), checkpoint: count, fromK: k }),
  z.object({ type: z.literal('finish'), reason: text }),
  z.object({ type: z.literal('left') }),
  /** The run is over, or this life was declared dead: close. `rejoin`: the worker may come back, as a new life. */
  z.object({ type: z.literal('close'), reason: text, rejoin: z.boolean().optional() }),
  /** To the evaluator: pull these replicas, evaluate their mean. `final`: all hold the final model, one is enough. */
  z.object({
    type: z.literal('evaluate'),
    mark: count,
    final: z.boolean(),
    peers: z.array(peer).max(LIMITS.workersMax),
    runKey: text,
    stateLength: vectorLength,
  }),
  /** To a server: fetch the parameters there, keep part `server` of `servers`, and be the worker number that `self` says. */
  z.object({
    type: z.literal('shard'),
    server: count,
    servers: z.number().int().positive().max(LIMITS.workersMax),
    self: z.object({ worker, incarnation }),
    runKey: text,
    exchangeLength: vectorLength,
    stateLength: vectorLength,
    donor: peer,
  }),
] as const;

export const workerMessageSchema = z.discriminatedUnion('type', workerMessages);
export const controllerMessageSchema = z.discriminatedUnion('type', controllerMessages);

/** Sent by a worker or the evaluator. */
export type WorkerMessage = z.infer<typeof workerMessageSchema>;
/** Sent by the controller. */
export type ControllerMessage = z.infer<typeof controllerMessageSchema>;

export type Layout = z.infer<typeof layout>;
export type LayoutTensor = z.infer<typeof tensor>;
export type Address = z.infer<typeof address>;
export type Peer = z.infer<typeof peer>;
export type GroupMessage = Extract<ControllerMessage, { type: 'group' }>;
