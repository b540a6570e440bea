/**
 * Float64 references of max- and average pooling.
 */
import type { ReferenceOperation } from './operation.js';
import { eachPooledCell, outputSize, type ReferenceWindow } from './window.js';

function outputLength(window: ReferenceWindow): number {
  const [rows, columns] = outputSize(window);
  return window.batch * window.channels * rows * columns;
}

export function referenceMaxPool(window: ReferenceWindow): ReferenceOperation {
  /** Flat index of each output's maximum. */
  function places(x: Float64Array): Int32Array {
    const best = new Int32Array(outputLength(window)).fill(-1);
    eachPooledCell(window, (input, output) => {
      const held = best[output] as number;
      if (held < 0 || (x[input] as number) > (x[held] as number)) best[output] = input;
    });
    return best;
  }
  return {
    forward: ([x]) => Float64Array.from(places(x as Float64Array), (input) => x?.[input] as number),
    backward([x], gradient) {
      const result = new Float64Array(x?.length ?? 0);
      places(x as Float64Array).forEach((input, output) => {
        result[input] = (result[input] as number) + (gradient[output] as number);
      });
      return [result];
    },
  };
}

/** Cells outside the input count as zeros. */
export function referenceAveragePool(window: ReferenceWindow): ReferenceOperation {
  const cells = window.kernel[0] * window.kernel[1];
  return {
    forward([x]) {
      const result = new Float64Array(outputLength(window));
      eachPooledCell(window, (input, output) => {
        result[output] = (result[output] as number) + (x?.[input] as number) / cells;
      });
      return result;
    },
    backward([x], gradient) {
      const result = new Float64Array(x?.length ?? 0);
      eachPooledCell(window, (input, output) => {
        result[input] = (result[input] as number) + (gradient[output] as number) / cells;
      });
      return [result];
    },
  };
}
