/**
 * Who goes on from what when a run is resumed. As many workers as before: each from its own part. More: the others copy
 * a part. Fewer: no replica may be lost, so all go on from the mean of all, which a final average would be. Where replicas
 * are the same at all workers (all-reduce) everybody takes the freshest.
 */
import { assertPresent } from '../base/assert.js';
import { PreduceError } from '../base/errors.js';
import { strategies } from '../core/strategies/strategies.js';
import type { StrategyName } from '../core/config.js';
import type { Model } from '../engine/model.js';
import type { Manifest } from './checkpoint-manifest.js';
import { decodePart, type PartState, readStamped } from './checkpoint-part.js';
import { partPath, readManifest } from './checkpoint-store.js';

/** What one worker goes on from. */
export interface RestorePlan {
  readonly k: number;
  /** Workers of the checkpoint whose replicas are averaged, ascending. */
  readonly replicas: readonly number[];
  /** The one whose optimizer's state it takes. */
  readonly optimizer: number;
}

export interface RestoreOptions {
  readonly strategy: StrategyName;
  readonly worker: number;
  /** Workers that the run starts with now. */
  readonly workerCount: number;
}

/** `manifest.parts` must not be empty. */
export function planRestore({ parts }: Pick<Manifest, 'parts'>, options: RestoreOptions): RestorePlan {
  const sorted = parts.toSorted((a, b) => a.worker - b.worker);
  const freshest = assertPresent(
    sorted.toSorted((a, b) => b.k - a.k || a.worker - b.worker)[0],
    'a part of the checkpoint',
  );
  const { strategy, worker, workerCount } = options;
  if (strategies[strategy].synchronous) {
    return { k: freshest.k, replicas: [freshest.worker], optimizer: freshest.worker };
  }
  const place = sorted.findIndex((part) => part.worker === worker);
  const own = assertPresent(sorted[place >= 0 ? place : worker % sorted.length], 'a part of the checkpoint');
  if (workerCount < sorted.length) {
    return { k: freshest.k, replicas: sorted.map((part) => part.worker), optimizer: own.worker };
  }
  return { k: own.k, replicas: [own.worker], optimizer: own.worker };
}

export interface RestoredState extends PartState {
  readonly k: number;
}

/** Reads what this worker goes on from. Throws `data-missing`, `bad-data`, `version-mismatch`. */
export async function restoreState(
  source: { readonly directory: string; readonly checkpoint: number },
  shapes: Pick<Model, 'layout' | 'auxiliaryLayout'>,
  options: RestoreOptions,
): Promise<RestoredState> {
  const { directory, checkpoint } = source;
  const manifest = await readManifest(directory, checkpoint);
  const plan = planRestore(manifest, options);
  const read = async (worker: number): Promise<PartState> => {
    const path = partPath(directory, checkpoint, worker);
    const part = manifest.parts.find((each) => each.worker === worker);
    return decodePart(await readStamped(path, assertPresent(part, `the part of worker ${worker}`)), shapes, path);
  };
  const { optimizer } = await read(plan.optimizer);
  const sums = createMeans();
  for (const worker of plan.replicas) sums.add(await read(worker));
  const { parameters, auxiliary } = sums.result();
  return { k: plan.k, parameters, auxiliary, optimizer };
}

type Replica = Pick<PartState, 'parameters' | 'auxiliary'>;

/** Means in float64; of one replica, its own bits. */
function createMeans(): { add(replica: Replica): void; result(): Replica } {
  let count = 0;
  let parameters: Float64Array | null = null;
  let auxiliary: Float64Array | null = null;
  const add = (sum: Float64Array | null, values: Float32Array): Float64Array =>
    sum === null ? Float64Array.from(values) : sum.map((value, i) => value + (values[i] as number));
  const mean = (sum: Float64Array | null): Float32Array => Float32Array.from(sum ?? [], (value) => value / count);
  return {
    add(replica) {
      count += 1;
      parameters = add(parameters, replica.parameters);
      auxiliary = add(auxiliary, replica.auxiliary);
    },
    result: () => ({ parameters: mean(parameters), auxiliary: mean(auxiliary) }),
  };
}

/** Throws `bad-data` where the part is of another optimizer. */
export function checkOptimizerState(found: Float32Array, expected: Float32Array): void {
  if (found.length === expected.length) return;
  throw new PreduceError(
    'bad-data',
    `expected ${expected.length} values of the optimizer's state in the checkpoint, got ${found.length}`,
  );
}
