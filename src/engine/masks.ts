/**
 * Draws the random masks of a training batch (dropout) from its seed.
 */
import { createRandom } from '../base/random.js';
import type { Mask } from './graph.js';
import type { TensorView } from './session.js';
import { BATCH } from './shape.js';

/** One tensor per mask, by name, for a batch of `count` samples. Equal seeds give equal masks. */
export function drawMasks(masks: readonly Mask[], count: number, seed: number): Record<string, TensorView> {
  const random = createRandom(seed);
  return Object.fromEntries(
    masks.map(({ name, shape, keptShare }, i) => {
      const sizes = shape.map((dimension) => (dimension === BATCH ? count : dimension));
      const data = new Float32Array(sizes.reduce((product, size) => product * size, 1));
      const own = random.fork(i);
      for (let k = 0; k < data.length; k += 1) data[k] = own.next() < keptShare ? 1 / keptShare : 0;
      return [name, { data, shape: sizes }];
    }),
  );
}
