/**
 * Refuses a batch that does not fit its model before native code reads it.
 */
import { PreduceError } from '../base/errors.js';
import type { Batch } from './model.js';

/** Throws `bad-data` unless `batch` holds samples of `sampleLength` values with labels below `classCount`. */
export function checkBatch(batch: Batch, sampleLength: number, classCount: number): void {
  const { inputs, labels, count } = batch;
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new PreduceError('bad-data', `expected a batch of at least one sample, got ${count}`);
  }
  if (inputs.length !== count * sampleLength) {
    throw new PreduceError(
      'bad-data',
      `expected ${count} samples of ${sampleLength} values (${count * sampleLength} in all), got ${inputs.length}`,
    );
  }
  if (labels.length !== count) {
    throw new PreduceError('bad-data', `expected ${count} labels, one per sample, got ${labels.length}`);
  }
  for (const [i, label] of labels.entries()) {
    if (label >= 0 && label < classCount) continue;
    throw new PreduceError('bad-data', `expected labels from 0 to ${classCount - 1}, got ${label} at sample ${i}`);
  }
}
