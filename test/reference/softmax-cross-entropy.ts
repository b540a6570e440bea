/**
 * Float64 reference of the mean cross-entropy of softmax scores against class numbers.
 */
import type { ReferenceOperation } from './operation.js';

/** scores: [labels.length, classCount]; the output is one number. */
export function referenceSoftmaxCrossEntropy(labels: Int32Array, classCount: number): ReferenceOperation {
  function probabilities(scores: Float64Array, sample: number): Float64Array {
    const row = scores.subarray(sample * classCount, (sample + 1) * classCount);
    const highest = Math.max(...row);
    const powers = row.map((score) => Math.exp(score - highest));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / sum);
  }
  return {
    forward([scores]) {
      let loss = 0;
      labels.forEach((label, i) => {
        loss -= Math.log(probabilities(scores as Float64Array, i)[label] as number);
      });
      return Float64Array.of(loss / labels.length);
    },
    backward([scores], gradient) {
      const result = new Float64Array(labels.length * classCount);
      labels.forEach((label, i) => {
        const row = probabilities(scores as Float64Array, i);
        row[label] = (row[label] as number) - 1;
        result.set(
          row.map((value) => (value * (gradient[0] as number)) / labels.length),
          i * classCount,
        );
      });
      return [result];
    },
  };
}
