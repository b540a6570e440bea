/**
 * Float64 reference of y = x W^T + b.
 */
import type { ReferenceOperation } from './operation.js';

/** x: [batch, inputs], W: [outputs, inputs], b: [outputs] or left out. */
export function referenceLinear(batch: number, inputs: number, outputs: number): ReferenceOperation {
  return {
    forward([x, weight, bias]) {
      const y = new Float64Array(batch * outputs);
      for (let n = 0; n < batch; n += 1) {
        for (let o = 0; o < outputs; o += 1) {
          let sum = bias?.[o] ?? 0;
          for (let i = 0; i < inputs; i += 1) sum += at(x, n * inputs + i) * at(weight, o * inputs + i);
          y[n * outputs + o] = sum;
        }
      }
      return y;
    },
    backward([x, weight, bias], gradient) {
      const forX = new Float64Array(batch * inputs);
      const forWeight = new Float64Array(outputs * inputs);
      const forBias = new Float64Array(outputs);
      for (let n = 0; n < batch; n += 1) {
        for (let o = 0; o < outputs; o += 1) {
          const g = at(gradient, n * outputs + o);
          forBias[o] = at(forBias, o) + g;
          for (let i = 0; i < inputs; i += 1) {
            forX[n * inputs + i] = at(forX, n * inputs + i) + g * at(weight, o * inputs + i);
            forWeight[o * inputs + i] = at(forWeight, o * inputs + i) + g * at(x, n * inputs + i);
          }
        }
      }
      return bias === undefined ? [forX, forWeight] : [forX, forWeight, forBias];
    },
  };
}

function at(values: Float64Array | undefined, index: number): number {
  return values?.[index] as number;
}
