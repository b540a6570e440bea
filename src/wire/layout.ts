/**
 * The layout of a replica: which tensors lie where in the flat vector, and how two layouts differ.
 */
import type { Layout, LayoutTensor } from './messages.js';
import { quoted } from './quoted.js';

function tensorLength({ shape }: LayoutTensor): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Values of the flat vector. */
export function layoutLength(layout: Layout): number {
  return layout.reduce((sum, tensor) => sum + tensorLength(tensor), 0);
}

/** Where each tensor begins in the flat vector, in values. */
export function layoutOffsets(layout: Layout): number[] {
  let offset = 0;
  return layout.map((tensor) => {
    const start = offset;
    offset += tensorLength(tensor);
    return start;
  });
}

function describe(tensor: LayoutTensor | undefined): string {
  return tensor === undefined ? 'no tensor' : `${quoted(tensor.name)} [${tensor.shape.join(', ')}]`;
}

/** Text that only equal tensors share. */
function keyOf({ name, shape }: LayoutTensor): string {
  return JSON.stringify([name, shape]);
}

/** FNV-1a, twice 32 bits with different starts: enough to tell layouts apart, not to resist an attacker. */
export function fingerprint(layout: Layout): string {
  const text = layout.map(keyOf).join('\n');
  let a = 0x811c9dc5;
  let b = 0x050c5d1f;
  for (let i = 0; i < text.length; i += 1) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(i), 0x01000193) ^ (a >>> 13);
  }
  return [a, b].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}

/** One line on the first difference, null where there is none. */
export function layoutDifference(expected: Layout, actual: Layout): string | null {
  const count = Math.max(expected.length, actual.length);
  for (let i = 0; i < count; i += 1) {
    const left = expected[i];
    const right = actual[i];
    if (left === undefined || right === undefined || keyOf(left) !== keyOf(right)) {
      const lengths = `${expected.length} tensors, ${layoutLength(expected)} values against ${actual.length}, ${layoutLength(actual)}`;
      return `tensor ${i} is ${describe(right)} where the run has ${describe(left)} (${lengths})`;
    }
  }
  return null;
}
