/**
 * What a connection must show before it takes part: version and token in `hello`, a matching layout in `join`.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { WorkerId } from '../base/ids.js';
import { fingerprint, layoutDifference, layoutLength } from '../wire/layout.js';
import { LIMITS, PROTOCOL_VERSION } from '../wire/limits.js';
import type { ControllerMessage, Layout, WorkerMessage } from '../wire/messages.js';

type Hello = Extract<WorkerMessage, { type: 'hello' }>;
type Join = Extract<WorkerMessage, { type: 'join' }>;

/** Why a connection is not let in: the content of `refused`. */
export type Refusal = Omit<Extract<ControllerMessage, { type: 'refused' }>, 'type'>;

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The reason to refuse a `hello`, or null. The token is compared in constant time. */
export function checkHello(hello: Hello, token: string | null): Refusal | null {
  if (hello.version.major !== PROTOCOL_VERSION.major) {
    return {
      code: 'version-mismatch',
      message:
        `the controller speaks protocol ${PROTOCOL_VERSION.major}.${PROTOCOL_VERSION.minor}, ` +
        `this worker ${hello.version.major}.${hello.version.minor}: install the same major version of preduce on both`,
    };
  }
  if (token !== null && (hello.token === null || !timingSafeEqual(digest(hello.token), digest(token)))) {
    return {
      code: 'refused',
      message: `the controller expects a token and got ${hello.token === null ? 'none' : 'another one'}: pass the run's --token-file`,
    };
  }
  return null;
}

/** The reason to refuse a connection while `waitingCount` others have neither joined nor gone, or null. */
export function checkConnectionCount(waitingCount: number): Refusal | null {
  if (waitingCount < LIMITS.workersMax) return null;
  return {
    code: 'refused',
    message: `expected at most ${LIMITS.workersMax} connections that have not joined yet, got one more: try again later`,
  };
}

/**
 * The reason to refuse a `join` for want of a worker number, or null. `numberCount`: numbers given out so far. Those of the
 * dead count, as nobody gets one without asking for it.
 */
export function checkPlace(requested: WorkerId | null, numberCount: number): Refusal | null {
  if (requested !== null || numberCount < LIMITS.workersMax) return null;
  return {
    code: 'refused',
    message:
      `expected at most ${LIMITS.workersMax} workers in a run, got one more: ` +
      'start it with the number of a worker that is gone, or in another run',
  };
}

/** What all replicas of a run agree on; taken from its first worker. */
export interface ReplicaShape {
  readonly layout: Layout;
  readonly fingerprint: string;
  readonly exchangeLength: number;
  readonly stateLength: number;
}

export function replicaShape(join: Join): ReplicaShape {
  return {
    layout: join.layout,
    fingerprint: fingerprint(join.layout),
    exchangeLength: join.exchangeLength,
    stateLength: join.stateLength,
  };
}

/** The reason to refuse a `join`, or null. `expected` is null for the run's first worker. */
export function checkJoin(join: Join, expected: ReplicaShape | null): Refusal | null {
  const length = layoutLength(join.layout);
  if (join.exchangeLength < length || join.stateLength < join.exchangeLength) {
    return {
      code: 'bad-layout',
      message:
        `expected exchangeLength >= ${length} (the layout's values) and stateLength >= exchangeLength, ` +
        `got ${join.exchangeLength} and ${join.stateLength}`,
    };
  }
  if (expected === null) return null;
  if (fingerprint(join.layout) !== expected.fingerprint) {
    const difference = layoutDifference(expected.layout, join.layout) ?? 'the order of the tensors';
    return {
      code: 'bad-layout',
      message: `this worker's model is not the run's: ${difference}. Start it with the run's model code and sizes`,
    };
  }
  if (join.exchangeLength !== expected.exchangeLength || join.stateLength !== expected.stateLength) {
    return {
      code: 'bad-layout',
      message:
        `the run exchanges ${expected.exchangeLength} values (state ${expected.stateLength}), this worker ` +
        `${join.exchangeLength} (state ${join.stateLength}): use the run's strategy and optimizer`,
    };
  }
  return null;
}
