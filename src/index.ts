/**
 * Entry point `preduce`: everything that is public. `preduce/client` is the part that needs no engine.
 */
export { ERROR_CODES, type ErrorCode, PreduceError } from './base/errors.js';
export type { GroupId, LeaseId, WorkerId } from './base/ids.js';
export { controller, type ControllerOptions, type RunningController } from './controller/run-controller.js';
export { type CoreConfig, defaultCoreConfig, type WeightRule } from './core/config.js';
export type { Lease, Progress } from './core/group.js';
export type { Batch, Evaluation, Gradient, Model } from './engine/model.js';
export { compare, type CompareOptions } from './launch/compare.js';
export type { ComparisonResult } from './launch/comparison-output.js';
export type { RunOptions } from './launch/run-options.js';
export type { RunResult } from './launch/run-output.js';
export { train, type TrainOptions } from './launch/train.js';
export type { RunEvent } from './observe/run-events.js';
export { simulate, type SimulationResult } from './sim/simulate.js';
export type { SimulateOptions } from './sim/simulate-options.js';
export { findWorkload, type Workload, type WorkloadData, workloads } from './training/workload.js';
export type { Layout, LayoutTensor } from './wire/messages.js';
export { joinRun, type JoinRunOptions, type ReduceOptions, type Run } from './worker/join-run.js';
export type { ExchangeOutcome } from './worker/worker-run.js';
