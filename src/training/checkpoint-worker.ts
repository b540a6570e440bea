/**
 * A worker's side of checkpoints: keeps its state when it is asked to, between two of its steps, and takes it up again when
 * a run is resumed.
 */
import { messageOf, PreduceError } from '../base/errors.js';
import { isFiniteVector } from '../base/finite.js';
import type { Lease } from '../core/group.js';
import type { Model } from '../engine/model.js';
import type { WorkerRun } from '../worker/worker-run.js';
import { writePart } from './checkpoint-part.js';
import { checkOptimizerState, restoreState } from './checkpoint-restore.js';
import { partPath } from './checkpoint-store.js';
import type { TrainingConfig } from './config.js';
import type { Replica, ReplicaRule } from './replica-rule.js';

/** Where a worker is in its work: between two steps. */
export interface WorkPosition {
  readonly lease: Lease | null;
  /** Samples of the lease that the replica contains. */
  readonly processed: number;
}

export const NO_LEASE: WorkPosition = { lease: null, processed: 0 };

export interface CheckpointWriter {
  /** Between two steps: keeps the state where a checkpoint of now, or of before, is asked for. */
  betweenSteps(position: WorkPosition): Promise<void>;
  /** No step follows until something else comes: keeps the state where any checkpoint is asked for. */
  atRest(position: WorkPosition): Promise<void>;
}

export interface CheckpointWriterOptions {
  readonly run: WorkerRun;
  readonly replica: Replica;
  readonly model: Pick<Model, 'layout' | 'auxiliaryLayout'>;
  /** Null: it keeps none, and is not asked. */
  readonly directory: string | null;
}

/** A run that goes on from NaN goes nowhere: the checkpoint before is the one to keep. Throws `not-finite`. */
function checkFinite({ parameters, auxiliary, optimizer }: Replica): void {
  if ([parameters, auxiliary, optimizer.state].every(isFiniteVector)) return;
  throw new PreduceError('not-finite', 'expected a replica of finite values, got one that is not finite');
}

/** Training waits while a part is written. A part that cannot be written is told, and training goes on. */
export function createCheckpointWriter(options: CheckpointWriterOptions): CheckpointWriter {
  const { run, replica, model, directory } = options;

  async function keep(checkpoint: number, { lease, processed }: WorkPosition): Promise<void> {
    if (directory === null) return;
    const { parameters, auxiliary, optimizer, k } = replica;
    try {
      checkFinite(replica);
      const path = partPath(directory, checkpoint, run.worker);
      const stamp = await writePart(path, model, { parameters, auxiliary, optimizer: optimizer.state });
      run.answerCheckpoint({ type: 'checkpointed', checkpoint, k, lease: lease?.id ?? null, processed, ...stamp });
    } catch (error) {
      run.answerCheckpoint({ type: 'checkpointFailed', checkpoint, reason: messageOf(error) });
    }
  }

  return {
    async betweenSteps(position) {
      const request = run.checkpointRequest;
      if (request !== null && replica.k >= request.fromK) await keep(request.checkpoint, position);
    },
    async atRest(position) {
      // A newer one may be asked for while this one is written.
      for (let request = run.checkpointRequest; request !== null; request = run.checkpointRequest) {
        await keep(request.checkpoint, position);
      }
    },
  };
}

export interface TakeUpOptions {
  readonly directory: string;
  readonly checkpoint: number;
  readonly worker: number;
  readonly config: TrainingConfig;
  readonly model: Pick<Model, 'layout' | 'auxiliaryLayout'>;
}

/** Makes the replica that of a checkpoint, and gives its k. Throws `data-missing`, `bad-data`, `version-mismatch`. */
export async function takeUpReplica(
  replica: Replica,
  rule: ReplicaRule,
  { directory, checkpoint, worker, config, model }: TakeUpOptions,
): Promise<number> {
  const { strategy, workerCount } = config;
  const restored = await restoreState({ directory, checkpoint }, model, { strategy, worker, workerCount });
  checkOptimizerState(restored.optimizer, replica.optimizer.state);
  replica.optimizer.state.set(restored.optimizer);
  const { parameters, auxiliary, optimizer, k } = restored;
  const whole = new Float32Array(parameters.length + auxiliary.length + optimizer.length);
  whole.set(parameters);
  whole.set(auxiliary, parameters.length);
  whole.set(optimizer, parameters.length + auxiliary.length);
  // Every rule's state begins with the replica; some go on with the optimizer's.
  rule.readState(whole, k);
  return k;
}
