/**
 * Float64 reference of a grouped two-dimensional convolution with bias.
 */
import type { ReferenceOperation } from './operation.js';
import { eachCell, outputSize, type ReferenceWindow } from './window.js';

/** x: [batch, channels, height, width], W: [outputs, channels / groups, ...kernel], b: [outputs] or left out. */
export function referenceConv(window: ReferenceWindow, outputs: number, groups: number): ReferenceOperation {
  const { batch, channels, height, width, kernel } = window;
  const [rows, columns] = outputSize(window);
  const perGroup = channels / groups;

  /** Calls `visit` with the flat indices of each x, W and y that meet in one product. */
  function eachProduct(visit: (x: number, w: number, y: number) => void): void {
    for (let n = 0; n < batch; n += 1) {
      for (let o = 0; o < outputs; o += 1) {
        const firstChannel = Math.floor(o / (outputs / groups)) * perGroup;
        for (let oy = 0; oy < rows; oy += 1) {
          for (let ox = 0; ox < columns; ox += 1) {
            for (let c = 0; c < perGroup; c += 1) {
              eachCell(window, oy, ox, (i, j, iy, ix) => {
                const x = ((n * channels + firstChannel + c) * height + iy) * width + ix;
                const w = ((o * perGroup + c) * kernel[0] + i) * kernel[1] + j;
                visit(x, w, ((n * outputs + o) * rows + oy) * columns + ox);
              });
            }
          }
        }
      }
    }
  }
  const channelOf = (y: number) => Math.floor(y / (rows * columns)) % outputs;

  return {
    forward([x, weight, bias]) {
      const result = new Float64Array(batch * outputs * rows * columns).map((_, y) => bias?.[channelOf(y)] ?? 0);
      eachProduct((xi, wi, yi) => {
        result[yi] = (result[yi] as number) + (x?.[xi] as number) * (weight?.[wi] as number);
      });
      return result;
    },
    backward([x, weight, bias], gradient) {
      const forX = new Float64Array(x?.length ?? 0);
      const forWeight = new Float64Array(weight?.length ?? 0);
      eachProduct((xi, wi, yi) => {
        const g = gradient[yi] as number;
        forX[xi] = (forX[xi] as number) + g * (weight?.[wi] as number);
        forWeight[wi] = (forWeight[wi] as number) + g * (x?.[xi] as number);
      });
      if (bias === undefined) return [forX, forWeight];
      const forBias = new Float64Array(outputs);
      gradient.forEach((g, y) => {
        forBias[channelOf(y)] = (forBias[channelOf(y)] as number) + g;
      });
      return [forX, forWeight, forBias];
    },
  };
}
