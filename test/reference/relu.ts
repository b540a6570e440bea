/**
 * Float64 reference of max(x, 0).
 */
import type { ReferenceOperation } from './operation.js';

export function referenceRelu(): ReferenceOperation {
  return {
    forward: ([x]) => (x as Float64Array).map((value) => Math.max(value, 0)),
    backward: ([x], gradient) => [gradient.map((g, i) => ((x?.[i] as number) > 0 ? g : 0))],
  };
}
