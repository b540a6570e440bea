/**
 * A set of labelled images in memory, and batches of it. Images stay bytes (a quarter of the memory of floats) and are
 * normalised when a batch is filled, by a table of 256 values.
 */
import { assert } from '../base/assert.js';

export interface Dataset {
  readonly name: string;
  readonly sampleCount: number;
  /** Shape of one sample, e.g. [1, 28, 28]: channels, rows, columns. */
  readonly inputShape: readonly number[];
  readonly classCount: number;
  /** Shape [sampleCount, ...inputShape]. */
  readonly images: Uint8Array;
  /** Shape [sampleCount]; each below `classCount`. */
  readonly labels: Uint8Array;
  /** Length 256: the normalised value of each byte. */
  readonly levels: Float32Array;
}

/** A batch that is filled and used again and again; its content is valid until the next fill. */
export interface DataBatch {
  /** Shape [count, ...inputShape]. */
  readonly inputs: Float32Array;
  /** Shape [count]: class numbers. */
  readonly labels: Int32Array;
  readonly count: number;
}

/** The values that `Dataset.levels` holds: (byte / 255 - mean) / deviation. */
export function normalisedLevels(mean: number, deviation: number): Float32Array {
  return Float32Array.from({ length: 256 }, (_, byte) => (byte / 255 - mean) / deviation);
}

/** Values of one sample. */
export function sampleLength(dataset: Pick<Dataset, 'inputShape'>): number {
  return dataset.inputShape.reduce((product, size) => product * size, 1);
}

/** A batch of `count` samples, all zero. */
export function createBatch(dataset: Pick<Dataset, 'inputShape'>, count: number): DataBatch {
  return { inputs: new Float32Array(count * sampleLength(dataset)), labels: new Int32Array(count), count };
}

/** The first `count` samples of `batch`, sharing its buffers. */
export function shortenBatch(batch: DataBatch, count: number): DataBatch {
  assert(count <= batch.count, `a batch of ${batch.count} has no ${count} samples`);
  const length = batch.inputs.length / batch.count;
  return { inputs: batch.inputs.subarray(0, count * length), labels: batch.labels.subarray(0, count), count };
}

/**
 * Fills `batch` with the samples whose numbers are `indices[from .. from + batch.count)`, normalised. Allocates nothing.
 */
export function fillBatch(dataset: Dataset, indices: Int32Array | Uint32Array, batch: DataBatch, from = 0): void {
  const { images, labels, levels } = dataset;
  const length = batch.inputs.length / batch.count;
  assert(
    from + batch.count <= indices.length,
    `expected ${batch.count} indices from ${from}, got ${indices.length} in all`,
  );
  let to = 0;
  for (let i = 0; i < batch.count; i += 1) {
    const index = indices[from + i] as number;
    assert(index >= 0 && index < dataset.sampleCount, `sample ${index} of ${dataset.sampleCount}`);
    batch.labels[i] = labels[index] as number;
    const end = (index + 1) * length;
    for (let at = index * length; at < end; at += 1) {
      batch.inputs[to] = levels[images[at] as number] as number;
      to += 1;
    }
  }
}
