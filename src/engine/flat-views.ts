/**
 * One flat vector cut into named tensors, without a copy.
 */
import type { Layout } from '../wire/messages.js';
import type { Initializer } from './initializers.js';
import type { TensorView } from './session.js';
import { elementCount } from './shape.js';

/** A tensor to lie in a flat vector. */
export interface FlatTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly initialize: Initializer;
}

export function totalLength(tensors: readonly FlatTensor[]): number {
  return tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0);
}

/** Views of `flat`, one per tensor and in their order; `flat` has their total length. */
export function viewsOf(tensors: readonly FlatTensor[], flat: Float32Array): TensorView[] {
  let offset = 0;
  return tensors.map(({ shape }) => {
    const start = offset;
    offset += elementCount(shape);
    return { data: flat.subarray(start, offset), shape };
  });
}

export function layoutOf(tensors: readonly FlatTensor[]): Layout {
  return tensors.map(({ name, shape }) => ({ name, shape: [...shape] }));
}

/** `views` by the names that `nameOf` gives their tensors. */
export function byName<T extends FlatTensor>(
  tensors: readonly T[],
  views: readonly TensorView[],
  nameOf: (tensor: T) => string = ({ name }) => name,
): Record<string, TensorView> {
  return Object.fromEntries(tensors.map((tensor, i) => [nameOf(tensor), views[i] as TensorView]));
}
