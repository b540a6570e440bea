/**
 * Entry point `preduce/client`: join a run, or serve one, with no engine installed.
 */
export { ERROR_CODES, type ErrorCode, PreduceError } from './base/errors.js';
export type { GroupId, LeaseId, WorkerId } from './base/ids.js';
export type { TlsIdentity } from './controller/control-server.js';
export { controller, type ControllerOptions, type RunningController } from './controller/run-controller.js';
export { type CoreConfig, defaultCoreConfig, type WeightRule } from './core/config.js';
export type { Lease, Progress } from './core/group.js';
export type { RunEvent } from './observe/run-events.js';
export type { Layout, LayoutTensor } from './wire/messages.js';
export { joinRun, type JoinRunOptions, type ReduceOptions, type Run } from './worker/join-run.js';
export type { ExchangeOutcome } from './worker/worker-run.js';
