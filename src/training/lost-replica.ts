/**
 * What a worker keeps of a run whose controller is lost (algorithms.md 3.4): its replica, as a model that can be loaded.
 */
import { join, resolve } from 'node:path';
import { messageOf, PreduceError } from '../base/errors.js';
import type { Model } from '../engine/model.js';
import { tensorsOfModel, writeSafetensors } from './safetensors.js';

export interface LostReplica {
  readonly runId: string;
  readonly worker: number;
  readonly model: Pick<Model, 'layout' | 'parameters' | 'auxiliaryLayout' | 'auxiliary'>;
  readonly workload: string;
}

/** Saves it in `directory`; gives the error that ends the worker: `cause`, and where the replica lies or why it could not be saved. */
export async function saveLostReplica(
  cause: PreduceError,
  { runId, worker, model, workload }: LostReplica,
  directory: string,
): Promise<PreduceError> {
  const path = join(resolve(directory), `replica-${runId}-worker-${worker}.safetensors`);
  try {
    await writeSafetensors(path, tensorsOfModel(model), { workload, runId, worker: String(worker) });
  } catch (error) {
    return new PreduceError(cause.code, `${cause.message}; its replica is not saved: ${messageOf(error)}`, { cause });
  }
  return new PreduceError(cause.code, `${cause.message}; its replica is saved in ${path}`, { cause });
}
